#pragma once
// The ring of a communicator channel over all nodes: each node's chain of GPUs, joined in the order
// of nodes. src/graph/connect.cc (connectRings) and rings.cc of NCCL, 2.21 to 2.30.

#include <cstdint>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"

namespace fabricast {

/// The search channel whose chain `node` contributes to communicator channel `channel`. Where rings
/// cross NICs and their number is even, odd nodes swap neighbours 2k and 2k + 1, so that a ring
/// enters a node by the NIC by which it left the one before.
int ring_search_channel(const ChannelGraph& ring, int channel, int node, int nodes,
                        NcclVersion version);

/// Where a ring passes from one node to the next. NICs are indices within their nodes.
struct NodeCrossing {
  int from_node = 0, from_rank = 0, from_nic = 0;
  int to_node = 0, to_rank = 0, to_nic = 0;

  constexpr bool operator==(const NodeCrossing&) const = default;
};

/// A ring as a function: nothing is stored per rank. The graph outlives it.
class RingOrder {
 public:
  /// REQUIRES: nodes >= 1, a ring graph with channels.
  RingOrder(const ChannelGraph& ring, int nodes, int channel, NcclVersion version);

  std::uint32_t ranks() const { return ranks_; }
  /// The rank at a ring index: a rank's distance along the ring from rank 0.
  int rank(std::uint32_t index) const;
  std::uint32_t index(int rank) const;
  /// How the ring leaves a node. REQUIRES: several nodes.
  NodeCrossing crossing(int node) const;

 private:
  const std::vector<int>& chain(int node) const;

  const ChannelGraph& ring_;
  int nodes_, channel_;
  NcclVersion version_;
  std::uint32_t ranks_, gpus_;
  std::uint32_t first_ = 0;  ///< where rank 0 stands in the chain of node 0
};

struct GlobalRing {
  std::vector<int> ranks;  ///< along the ring, rank 0 first: a rank's place is its ring index
  std::vector<NodeCrossing> crossings;  ///< number k leaves node k; empty on one node
};

/// Rank = node * GPUs per node + local GPU. REQUIRES: nodes >= 1, a ring graph with channels.
GlobalRing global_ring(const ChannelGraph& ring, int nodes, int channel, NcclVersion version);

}  // namespace fabricast
