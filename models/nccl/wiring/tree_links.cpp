#include "models/nccl/wiring/tree_links.hpp"

#include <algorithm>
#include <cassert>

#include "models/nccl/wiring/double_tree.hpp"

namespace fabricast {
namespace {

void add_down(TreeLinks& links, int rank) {
  const auto free = std::ranges::find(links.down, -1);
  assert(free != links.down.end());
  *free = rank;
}

}  // namespace

std::array<int, 2> child_ports(GraphPattern pattern, int gpus) {
  if (gpus == 1) return {0, 0};
  switch (pattern) {
    case GraphPattern::balanced_tree:
      return {1, 0};
    case GraphPattern::split_tree:
      return {1, 1};
    case GraphPattern::tree:
      return {0, 0};
    case GraphPattern::ring:
    case GraphPattern::nvls:
    case GraphPattern::collnet_direct:
      break;
  }
  assert(false && "not a tree");
  return {0, 0};
}

TreeLinks tree_links(const ChannelGraph& tree, int nodes, int channel, int rank) {
  const int gpus = tree.gpus();
  assert(rank >= 0 && rank < nodes * gpus && channel >= 0);
  const int searched = tree.channel_count();
  const std::vector<int>& chain =
      tree.channels[static_cast<std::size_t>(channel % searched)].gpu_order;
  const int node = rank / gpus;
  const auto rank_at = [&](int of_node, int position) {
    return of_node * gpus + chain[static_cast<std::size_t>(position)];
  };
  const int position =
      static_cast<int>(std::ranges::find(chain, rank - node * gpus) - chain.begin());
  assert(position < gpus);

  TreeLinks links;
  if (position > 0) links.up = rank_at(node, position - 1);
  if (position + 1 < gpus) add_down(links, rank_at(node, position + 1));

  const DoubleTree both = double_tree(node, nodes);
  const TreeNode& place = channel % (2 * searched) < searched ? both.first : both.second;
  const std::array<int, 2> port = child_ports(tree.pattern, gpus);
  if (position == 0 && place.up >= 0) {
    links.up = rank_at(place.up, port[static_cast<std::size_t>(place.child_number)]);
  }
  for (std::size_t child = 0; child < 2; ++child) {
    if (port[child] == position && place.down[child] >= 0) {
      add_down(links, rank_at(place.down[child], 0));
    }
  }
  return links;
}

}  // namespace fabricast
