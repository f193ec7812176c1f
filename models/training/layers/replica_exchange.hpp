#pragma once
// What replicas of a model exchange: gradients, and weights where they are cut.

#include <span>
#include <vector>

#include "models/training/calls/group_call.hpp"
#include "models/training/layers/layer_times.hpp"
#include "models/training/model/memory.hpp"

namespace fabricast {

class ReplicaExchange {
 public:
  /// REQUIRES: `setup` outlives it.
  explicit ReplicaExchange(const StepSetup& setup)
      : layout_(setup.layout), framework_(setup.framework) {}

  /// Is there a replica to exchange anything with?
  bool happens() const;
  /// Whole weights, but a cut optimizer: they are gathered once a step.
  bool gathers_once() const;
  /// Pieces that a chunk's gradients are reduced in while that overlaps: Megatron's buckets.
  int buckets(const LocalParameters& chunk, int layers) const;

  /// Or layers, where weights are cut.
  int pieces(const LocalParameters& chunk, int layers) const;

  /// Cut weights: a bucket of gradients is full after so many layers.
  int units_reduced_together(const LocalParameters& chunk, int units) const;

  /// The calls, in order, for one of `pieces` equal pieces of a chunk; first that of dense weights,
  /// which is most of it. Some may not happen().
  std::vector<GroupCall> gather(const LocalParameters& chunk, double pieces) const;
  std::vector<GroupCall> reduce(const LocalParameters& chunk, double pieces) const;
  /// Such calls one after another.
  CollectiveTime cost(std::span<const GroupCall> calls, CollectiveTimes& collectives) const;

 private:
  double gather_bytes() const;
  GroupCall call(Among among, Collective collective, std::int64_t parameters, double bytes,
                 double pieces) const;

  const Layout& layout_;
  const Framework& framework_;
};

}  // namespace fabricast
