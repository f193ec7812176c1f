#pragma once
// A first, simple builder of channels: takes NCCL's speeds and link figures and lays channels over
// NICs greedily, as NCCL's search usually ends up doing on regular nodes. It does not search.

#include <vector>

#include "models/hardware/node_graph.hpp"
#include "models/nccl/channel_graph.hpp"

namespace fabricast {

struct ChannelBuilderInput {
  NcclVersion version;
  int nodes = 1;
  int gpus = 1;           ///< the first so many GPUs of each node take part
  std::vector<int> nics;  ///< indices NCCL may use
};

struct RingAndTree {
  ChannelGraph ring, tree;
};

/// REQUIRES: gpus >= 1; nodes == 1 or at least one NIC.
RingAndTree build_channels(const NodeGraph& node, const ChannelBuilderInput& input);

}  // namespace fabricast
