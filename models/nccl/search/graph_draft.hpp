#pragma once
// A graph while the search works on it.

#include <vector>

#include "models/nccl/base/channel_graph.hpp"

namespace fabricast {

/// Places among the topology's GPUs and nets, which trimming and fusing shift against indices of
/// the node. -1 = none yet.
struct DraftChannel {
  std::vector<int> gpus;
  int net_in = -1, net_out = -1;
};

struct GraphDraft {
  GraphPattern pattern = GraphPattern::ring;
  bool is_collnet = false;  ///< starts only at nets that CollNet serves
  int cross_nic = 0;
  int min_channels = 1, max_channels = 1;
  float bw_intra = 0, bw_inter = 0;
  float latency_inter_us = 0;
  PathType type_intra = PathType::loc, type_inter = PathType::loc;
  bool same_channels = false;
  int hops = 0;   ///< never set back between attempts: NCCL does not either
  int count = 0;  ///< finished channels; more may be in `channels`
  std::vector<DraftChannel> channels;

  DraftChannel& current() { return channels[static_cast<std::size_t>(count)]; }
  const DraftChannel& previous() const { return channels[static_cast<std::size_t>(count - 1)]; }
  bool is_tree() const {
    return pattern == GraphPattern::tree || pattern == GraphPattern::split_tree ||
           pattern == GraphPattern::balanced_tree;
  }
  /// Only looks for pairs of a GPU and a net; the rest of the node is symmetric.
  bool has_heads_only() const {
    return pattern == GraphPattern::nvls || pattern == GraphPattern::collnet_direct;
  }
};

/// Whether the search prefers the draft to what it has (ncclTopoCompareGraphs). `gpus` of the node.
bool is_better(const GraphDraft& draft, const GraphDraft& best, int gpus, NcclVersion version);

}  // namespace fabricast
