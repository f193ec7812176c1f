#pragma once
// Who is connected to whom for NVLS on a communicator channel: the heads of a node, and between
// nodes a double binary tree over heads of the same number. src/graph/connect.cc (connectNvls) of
// NCCL, 2.21 to 2.30.

#include <array>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"

namespace fabricast {

/// The local ranks that own a part of every message: the first GPUs of the graph's channels, each
/// once.
std::vector<int> distinct_heads(const ChannelGraph& graph);

/// The NIC of the graph channel that a head leads; of the channels that it leads, they take turns.
int nic_of_head(const ChannelGraph& graph, int head, int channel);

/// A rank's links. NCCL numbers the NVLS object of head h as rank (number of ranks) + 1 + h.
struct NvlsLinks {
  int head = -1;                           ///< number of the head that this rank is; -1 = none
  int up = -1;                             ///< rank of the same head on the parent node; -1 = none
  std::array<int, 3> down = {-1, -1, -1};  ///< own NVLS object, then heads of the child nodes

  constexpr bool operator==(const NvlsLinks&) const = default;
};

/// Even channels follow the first tree, odd ones the second. Rank = node * gpus + local rank.
/// REQUIRES: a graph with channels; 0 <= rank < nodes * gpus.
NvlsLinks nvls_links(const ChannelGraph& nvls, int nodes, int gpus, int channel, int rank);

}  // namespace fabricast
