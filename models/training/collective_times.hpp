#pragma once
// How long a collective of a training step takes: NCCL's decision and the simulation of one
// communicator, remembered by shape and size.
//
// Approximations, for now: a group lies on the first GPUs of as many nodes as it has; groups that
// run beside it on the same nodes share NICs by rate (the slower of the simulated time and the
// time all their bytes need on all NICs of a node); sizes between powers of two are interpolated,
// times of more than 256 ranks are extrapolated over nodes.

#include <cstdint>
#include <map>
#include <tuple>

#include "models/nccl/communicator.hpp"
#include "models/nccl/memo.hpp"

namespace fabricast {

/// Ranks r, r + stride, r + 2 stride, ...: one of many groups side by side that cover the job. With
/// `outer`, so many of them `outer_stride` apart, which is more than they span.
struct RankGroup {
  int size = 1;
  int stride = 1;
  int outer = 1;
  int outer_stride = 1;
  int ranks() const { return size * outer; }
};

struct CollectiveTime {
  Duration time;
  int channels = 0;  ///< thread blocks of each GPU meanwhile
};

class CollectiveTimes {
 public:
  /// Bound: what no algorithm beats, the bytes that have to come to a GPU or a node over what
  /// NVLink or its NICs carry. Needs no simulation; for deciding what is worth one.
  enum class Estimate : std::uint8_t { simulated, bound };

  /// Of `cluster` node and fabric count, not how many nodes it has; `config.gpus_per_node` says how
  /// many GPUs of a host the job uses (0 = all).
  CollectiveTimes(const Cluster& cluster, const SoftwareCosts& software, CommunicatorConfig config,
                  Estimate estimate = Estimate::simulated);

  /// `bytes` is the larger buffer of a rank, as nccl-tests counts. Nothing for one rank or none.
  CollectiveTime cost(Collective collective, const RankGroup& group, double bytes);

  /// An all-to-all by direct stores inside a node, at the rate of NVLink where there
  /// is one. REQUIRES: nodes_of(group) == 1.
  Duration store_time(const RankGroup& group, double bytes);

  int nodes_of(const RankGroup& group) const { return shape_of(group).nodes; }
  int gpus_per_node() const { return gpus_per_node_; }
  const MemoCounts& counts() const { return known_.counts(); }

 private:
  struct Shape {
    int nodes = 1, gpus = 1;
    auto operator<=>(const Shape&) const = default;
  };
  struct Site {
    Cluster cluster;
    Communicator communicator;
  };
  Shape shape_of(const RankGroup& group) const;
  Site& site(const Shape& shape);
  Duration bound(Collective collective, const Shape& shape, int ranks, double bytes) const;
  CollectiveTime at(Collective collective, const Shape& shape, int exponent);
  CollectiveTime simulated(Collective collective, const Shape& shape, std::int64_t bytes);

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  CommunicatorConfig config_;
  Estimate estimate_;
  int gpus_per_node_;
  std::map<Shape, Site> sites_;
  Memo<std::tuple<Collective, Shape, int>, CollectiveTime> known_;
};

}  // namespace fabricast
