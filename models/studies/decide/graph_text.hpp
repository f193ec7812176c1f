#pragma once
// NCCL's graphs in the words of its own log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH), for
// people who compare the two.

#include <string>

#include "models/nccl/communicator/nccl_communicator.hpp"

namespace fabricast {

/// "Pattern 4, crossNic 2, nChannels 8, bw 48/48, type NVL/PIX, sameChannels 0"
std::string pattern_text(const ChannelGraph& graph);
/// " 0 : NET/0 GPU/0 GPU/1 NET/1", one line per channel, each after `indent`.
std::string channels_text(const ChannelGraph& graph, const std::string& indent = {});

/// All graphs, rings and trees of a communicator. Ranks beyond 64 in a ring are counted, not named,
/// and trees are those of the first node's ranks.
std::string graphs_text(const NcclCommunicator& communicator, const NodeDescription& node);

}  // namespace fabricast
