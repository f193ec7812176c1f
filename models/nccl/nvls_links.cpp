#include "models/nccl/nvls_links.hpp"

#include <algorithm>
#include <cassert>

#include "models/nccl/double_tree.hpp"

namespace fabricast {

std::vector<int> channel_heads(const ChannelGraph& graph) {
  std::vector<int> heads;
  for (const GraphChannel& channel : graph.channels) {
    const int gpu = channel.gpu_order.front();
    if (std::ranges::find(heads, gpu) == heads.end()) heads.push_back(gpu);
  }
  return heads;
}

NvlsLinks nvls_links(const ChannelGraph& nvls, int nodes, int gpus_per_node, int channel,
                     int rank) {
  assert(rank >= 0 && rank < nodes * gpus_per_node);
  const int node = rank / gpus_per_node, gpu = rank % gpus_per_node;
  const std::vector<int> heads = channel_heads(nvls);
  const auto own = std::ranges::find(heads, gpu);
  NvlsLinks links;
  if (own == heads.end()) return links;
  links.head = static_cast<int>(own - heads.begin());
  if (nodes == 1) return links;
  const DoubleTree both = double_tree(node, nodes);
  const TreeNode& place = channel % 2 == 0 ? both.first : both.second;
  if (place.up >= 0) links.up = place.up * gpus_per_node + gpu;
  std::size_t next = 0;
  for (const int child : place.down) {
    if (child >= 0) links.down[next++] = child * gpus_per_node + gpu;
  }
  return links;
}

}  // namespace fabricast
