#include "models/nccl/wiring/nvls_links.hpp"

#include <algorithm>
#include <cassert>

#include "models/nccl/wiring/double_tree.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

std::vector<int> distinct_heads(const ChannelGraph& graph) {
  std::vector<int> out;
  for (const GraphChannel& channel : graph.channels) add_once(out, channel.gpu_order.front());
  return out;
}

int nic_of_head(const ChannelGraph& graph, int head, int channel) {
  std::vector<int> nics;
  for (const GraphChannel& led : graph.channels)
    if (led.gpu_order.front() == head) nics.push_back(led.net_in);
  return nics[static_cast<std::size_t>(channel) % nics.size()];
}

NvlsLinks nvls_links(const ChannelGraph& nvls, int nodes, int gpus, int channel, int rank) {
  assert(rank >= 0 && rank < nodes * gpus);
  const std::vector<int> heads = distinct_heads(nvls);
  const int node = rank / gpus;
  NvlsLinks links;
  const auto mine = std::ranges::find(heads, rank % gpus);
  if (mine != heads.end()) links.head = static_cast<int>(mine - heads.begin());
  if (nodes == 1) return links;

  links.down[0] = nodes * gpus + 1 + links.head;
  if (links.head < 0) return links;
  const DoubleTree both = double_tree(node, nodes);
  const TreeNode& place = channel % 2 == 0 ? both.first : both.second;
  const auto peer = [&](int of_node) { return of_node < 0 ? -1 : of_node * gpus + *mine; };
  links.up = peer(place.up);
  std::size_t next = 1;
  for (const int child : place.down) {
    if (child >= 0) links.down[next++] = peer(child);
  }
  return links;
}

}  // namespace fabricast
