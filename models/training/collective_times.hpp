#pragma once
// How long a collective of a training step takes: NCCL's decision and the simulation of one
// communicator, remembered by shape and size.
//
// Approximations: one group stands for those side by side, the one that is spread most widely
// (GroupShapes); they share NICs and the uplinks of switches by rate (the slowest of the simulated
// time and the time that all their bytes need on all NICs of a node, or on all uplinks); sizes
// between powers of two are interpolated, times of more than 256 ranks are extrapolated over nodes.

#include <cstdint>
#include <map>
#include <tuple>

#include "models/nccl/communicator.hpp"
#include "models/nccl/memo.hpp"
#include "models/training/placement.hpp"

namespace fabricast {

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

  /// From now on ranks lie as said; empty: in order.
  void place(RankSlots slots) { shapes_.place(std::move(slots)); }

  /// `bytes` is the larger buffer of a rank, as nccl-tests counts. Nothing for one rank or none.
  CollectiveTime cost(Collective collective, const RankGroup& group, double bytes);

  /// An all-to-all by direct stores inside a node, at the rate of NVLink where there
  /// is one. REQUIRES: nodes_of(group) == 1.
  Duration store_time(const RankGroup& group, double bytes);

  /// A collective of all groups side by side.
  struct Exchange {
    Collective collective{};
    RankGroup group;
    double bytes = 0;
  };
  /// How much longer both take while they run at the same time, 1 or more: simulated on two nodes,
  /// with equal calls one after another (collective_contention.cpp). Of bounds 1.
  struct Slowdown {
    double first = 1, second = 1;
  };
  Slowdown beside(const Exchange& first, const Exchange& second);

  int nodes_of(const RankGroup& group) { return shapes_.of(group).nodes; }
  const GroupShapes& shapes() const { return shapes_; }
  int gpus_per_node() const { return gpus_per_node_; }
  bool has_assumed_fabric() const { return cluster_.fabric().is_default; }
  const MemoCounts& counts() const { return known_.counts(); }

 private:
  using Shape = GroupShape;
  struct Site {
    Cluster cluster;
    Communicator communicator;
  };
  /// On two nodes, or in one; sizes as a power of two.
  struct SceneExchange {
    Collective collective{};
    int nodes = 1, gpus = 1, exponent = 0;
    auto operator<=>(const SceneExchange&) const = default;
  };
  Site& site(const Shape& shape);
  SceneExchange scene_of(const Exchange& exchange);
  Slowdown together(const SceneExchange& first, const SceneExchange& second);
  Duration bound(Collective collective, const Shape& shape, int ranks, double bytes) const;
  CollectiveTime at(Collective collective, const Shape& shape, int exponent);
  CollectiveTime simulated(Collective collective, const Shape& shape, std::int64_t bytes);

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  CommunicatorConfig config_;
  Estimate estimate_;
  int gpus_per_node_;
  GroupShapes shapes_;
  std::map<Shape, Site> sites_;
  Memo<std::tuple<Collective, Shape, int>, CollectiveTime> known_;
  Memo<std::tuple<SceneExchange, SceneExchange>, Slowdown> slowdowns_;
};

}  // namespace fabricast
