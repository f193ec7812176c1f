#pragma once
// Who plays which part in NVLS: the heads of a node, each of which reduces its share through the
// switch, and the trees that equal heads of all nodes form. src/graph/connect.cc (connectNvls) of
// NCCL, 2.21 to 2.30.

#include <array>
#include <vector>

#include "models/nccl/channel_graph.hpp"

namespace fabricast {

/// Local ranks that are heads: the first GPUs of the graph's channels, each once, in order.
std::vector<int> channel_heads(const ChannelGraph& graph);

/// A rank's part on one channel; -1 = none. Only heads are in the trees between nodes.
struct NvlsLinks {
  int head = -1;                    ///< index among channel_heads()
  int up = -1;                      ///< equal head on the parent node
  std::array<int, 2> down{-1, -1};  ///< on the child nodes, without gaps

  constexpr bool operator==(const NvlsLinks&) const = default;
};

/// Even channels follow the first tree of the double tree over nodes, odd ones the second. Rank =
/// node * GPUs per node + local GPU. REQUIRES: 0 <= rank < nodes * gpus_per_node.
NvlsLinks nvls_links(const ChannelGraph& nvls, int nodes, int gpus_per_node, int channel, int rank);

}  // namespace fabricast
