#pragma once
// What replicas of a model exchange: gradients, and weights where they are cut.

#include "models/training/layers/layer_times.hpp"
#include "models/training/model/memory.hpp"

namespace fabricast {

class ReplicaExchange {
 public:
  ReplicaExchange(const StepSetup& setup, CollectiveTimes& collectives)
      : layout_(setup.layout), framework_(setup.framework), collectives_(collectives) {}

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

  /// The exchange of one of `pieces` equal pieces of a chunk.
  CollectiveTime gather(const LocalParameters& chunk, double pieces) const;
  CollectiveTime reduce(const LocalParameters& chunk, double pieces) const;
  /// The call that is most of it.
  CollectiveTimes::Exchange gather_call(const LocalParameters& chunk, double pieces) const;
  CollectiveTimes::Exchange reduce_call(const LocalParameters& chunk, double pieces) const;

 private:
  struct Groups {
    RankGroup dense, expert;
  };
  Groups groups() const;
  double gather_bytes() const;
  CollectiveTime cost(Collective collective, const LocalParameters& chunk, double bytes) const;

  const Layout& layout_;
  const Framework& framework_;
  CollectiveTimes& collectives_;
};

}  // namespace fabricast
