#pragma once
// The outer loop of NCCL's graph search: which bandwidths, path types and liberties are tried, in
// which order, and when it is enough (ncclTopoCompute in src/graph/search.cc).

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "models/nccl/search/channel_search.hpp"

namespace fabricast {

/// Widest way between what the search connects, and all links of a GPU together, GB/s.
struct BandwidthLimits {
  float max_bw = 0, total_bw = 0;
};
BandwidthLimits bandwidth_limits(const NcclTopology& topology);

struct GraphRequest {
  GraphPattern pattern = GraphPattern::ring;
  bool is_collnet = false;
  int min_channels = 1, max_channels = 1;
};

class GraphSearch {
 public:
  GraphSearch(const NcclTopology& topology, BandwidthLimits limits, ChannelSearch& channels);

  /// Without channels when there are none to be had. `collnet` and `nvls` graphs may stay empty; a
  /// ring or tree is replaced by a slow one in index order.
  GraphDraft search(const GraphRequest& request);

 private:
  void set_liberties();
  void set_channel_limits();
  void set_first_speed();
  void set_speed(std::size_t index);
  void attempt();
  void attempt_unless_known();
  bool is_enough() const;

  bool relax();
  bool relax_same_channels();
  bool relax_pattern();
  bool relax_type_intra();
  bool relax_type_inter();
  bool relax_cross_nic();
  bool relax_speed();

  void duplicate_channels();
  void restart_from_best();
  bool raise();
  void fall_back();

  bool is_version(NcclVersion least) const { return topology_.version() >= least; }
  int gpus() const { return topology_.graph().count(TopoKind::gpu); }

  const NcclTopology& topology_;
  BandwidthLimits limits_;
  ChannelSearch& channels_;

  /// The types of paths that exist, nearest first.
  std::vector<PathType> intra_types_, inter_types_;
  /// What was left of attempts by all that decides their course: pattern, cross-NIC, same channels,
  /// speed, and the farthest existing types.
  using Course = std::tuple<GraphPattern, int, bool, std::size_t, PathType, PathType>;
  std::map<Course, int> known_;

  GraphDraft draft_, best_;
  int min_sm_ = 0;
  int cross_nic_setting_ = 0;
  bool first_same_channels_ = true;
  PathType first_intra_{}, first_inter_{};  ///< what the types start from after each relaxation
  PathType last_intra_{}, last_inter_{};    ///< and how far they go
  std::span<const float> speeds_;
  std::size_t speed_ = 0;
  std::int64_t global_steps_ = 0;
  int steps_ = 0;  ///< left of the last attempt
};

}  // namespace fabricast
