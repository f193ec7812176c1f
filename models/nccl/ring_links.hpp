#pragma once
// The ring of a communicator channel over all nodes: each node's chain of GPUs, joined in the order
// of nodes. src/graph/connect.cc (connectRings) and rings.cc of NCCL, 2.21 to 2.30.

#include <vector>

#include "models/nccl/channel_graph.hpp"

namespace fabricast {

/// The search channel whose chain `node` contributes to communicator channel `channel`. Where rings
/// cross NICs and their number is even, odd nodes swap neighbours 2k and 2k + 1, so that a ring
/// enters a node by the NIC by which it left the one before.
int ring_search_channel(const ChannelGraph& ring, int channel, int node, NcclVersion version);

/// Where a ring passes from one node to the next. NICs are indices within their nodes.
struct NodeCrossing {
  int from_node = 0, from_rank = 0, from_nic = 0;
  int to_node = 0, to_rank = 0, to_nic = 0;

  constexpr bool operator==(const NodeCrossing&) const = default;
};

struct GlobalRing {
  std::vector<int> ranks;  ///< along the ring, rank 0 first: a rank's place is its ring index
  std::vector<NodeCrossing> crossings;  ///< number k leaves node k; empty on one node
};

/// Rank = node * GPUs per node + local GPU. REQUIRES: nodes >= 1, a ring graph with channels.
GlobalRing global_ring(const ChannelGraph& ring, int nodes, int channel, NcclVersion version);

}  // namespace fabricast
