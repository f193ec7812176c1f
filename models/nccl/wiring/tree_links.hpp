#pragma once
// Who is connected to whom on a tree channel: the chain inside each node, and one double binary
// tree over nodes between chains. src/graph/connect.cc (connectTrees) of NCCL, 2.21 to 2.30.

#include <array>

#include "models/nccl/base/channel_graph.hpp"

namespace fabricast {

/// Positions in a node's chain that speak with the node's first and second child.
/// REQUIRES: one of the three tree patterns, gpus >= 1.
std::array<int, 2> child_ports(GraphPattern pattern, int gpus);

/// Ranks above and below a rank on one channel; -1 = none. In `down` the chain's next GPU comes
/// first.
struct TreeLinks {
  int up = -1;
  std::array<int, 3> down = {-1, -1, -1};

  constexpr bool operator==(const TreeLinks&) const = default;
};

/// Links of rank `rank` = node * GPUs per node + local GPU. With n search channels, communicator
/// channel c follows search channel c mod n, over the first tree if c mod 2n < n, else the second.
/// A link's network end uses nic_of(tree, channel, local GPU).
/// REQUIRES: `tree` has one of the three tree patterns; 0 <= rank < nodes * tree.gpus().
TreeLinks tree_links(const ChannelGraph& tree, int nodes, int channel, int rank);

}  // namespace fabricast
