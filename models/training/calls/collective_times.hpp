#pragma once
// How long a collective of a training step takes: NCCL's decision and the simulation of one
// communicator, remembered by shape and size.
//
// Groups side by side on the same nodes run together, as bench --split has them: those that share a
// link (a NIC, PCIe, host memory) are simulated on one clock, those that do not alone, and the
// slowest of them stands for all.
//
// Approximations: groups on other nodes are those of the most widely spread one (GroupShapes),
// which share the uplinks of switches by rate; sizes between powers of two are interpolated, what
// is too large to simulate is extrapolated (models/nccl/run/affordable.hpp).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "models/experts/ep_run.hpp"
#include "models/experts/expert_wish.hpp"
#include "models/nccl/base/memo.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/communicator/communicators.hpp"
#include "models/nccl/memory/communicator_use.hpp"
#include "models/nccl/run/affordable.hpp"
#include "models/nccl/run/shared_links.hpp"
#include "models/training/calls/placement.hpp"

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

  /// Slices that are simulated of a call, or of calls that share links, if nobody says otherwise:
  /// more of them are extrapolated (affordable.hpp).
  static constexpr std::uint64_t kSlicesMost = 250'000;
  /// From now on calls of so many slices are simulated.
  void simulate_up_to(std::uint64_t slices) { slices_most_ = slices; }

  /// From now on ranks lie as said; empty: in order.
  void place(RankSlots slots) { shapes_.place(std::move(slots)); }

  /// From now on such kernels bring tokens to their experts. `kernels` outlive it.
  void use(const ExpertKernels& kernels, ExpertWish wish);
  /// Nothing: NCCL's all-to-all.
  const std::optional<ExpertWish>& expert_wish() const { return wish_; }
  /// Dispatch and combine of `call.tokens` of each rank of a group by these kernels, between powers
  /// of two in proportion; a bound of both where bounds are asked for. REQUIRES: expert_wish() that
  /// has kernels of its own. Throws Error where they do not reach.
  EpRoundTrip round_trip(const RankGroup& group, ExpertCall call);
  /// What both take beside their kernels, called on a stream. `has_handle`: backwards.
  Duration round_trip_launch(int tokens, bool has_handle) const;

  /// Calls one(0) .. one(count - 1), in any order and on any thread.
  using SideBySide =
      std::function<void(std::size_t count, const std::function<void(std::size_t)>& one)>;
  /// Finds what `ask` asks for side by side, for who asks later. It is called once, with bounds for
  /// answers; what it throws will be thrown again there. Answers and counts() are then the same as
  /// without, whatever the number of threads.
  void prepare(const SideBySide& side_by_side, const std::function<void()>& ask);

  /// `bytes` is the larger buffer of a rank, as nccl-tests counts. Nothing for one rank or none.
  CollectiveTime cost(Collective collective, const RankGroup& group, double bytes);

  /// Bytes of GPU memory that NCCL takes of the rank that has most, for a communicator of such a
  /// group with these calls. Groups of more ranks than are counted are taken for smaller ones.
  std::int64_t communicator_bytes(const RankGroup& group, const std::vector<MemoryCall>& calls);

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
  const GroupShape& shape_of(const RankGroup& group) { return shapes_.of(group); }
  int gpus_per_node() const { return gpus_per_node_; }
  const Cluster& cluster() const { return cluster_; }  ///< as it was given
  const MemoCounts& counts() const { return known_.counts(); }

 private:
  static constexpr int kElementBytes = 2;  ///< bf16
  using Shape = GroupShape;
  /// Some nodes with the groups that lie on them.
  struct Site {
    Site(const Cluster& whole, const CommunicatorConfig& config, const std::vector<int>& nodes,
         const Sides& sides);
    Cluster cluster;
    Communicators communicators;
    std::vector<Members> groups;
  };
  /// On two nodes, or in one; sizes as a power of two.
  struct SceneExchange {
    Collective collective{};
    int nodes = 1, gpus = 1, sides = 0, exponent = 0;
    auto operator<=>(const SceneExchange&) const = default;
  };
  /// What NCCL decided, as far as it says which links a call crosses.
  using Way = std::tuple<Algorithm, Protocol, int>;
  using Question = std::tuple<Collective, Shape, int>;  ///< the size as a power of two
  using Scene = std::tuple<SceneExchange, SceneExchange>;
  /// Experts, top k, hidden, datatype; tokens as a power of two.
  using RoundTrip = std::tuple<Shape, int, int, int, EpDatatype, int>;
  /// What connects such a communicator.
  using Connected = std::tuple<Shape, std::vector<Algorithm>, std::vector<Collective>>;
  /// With the questions that it is made of, where it is extrapolated.
  struct Found {
    CollectiveTime time;
    std::vector<Question> of = {};
  };
  /// What has been found, maybe before somebody asks.
  struct Answers {
    std::map<Question, Found> times;
    std::map<Scene, Slowdown> slowdowns;
    std::map<RoundTrip, EpRoundTrip> round_trips;
  };
  /// What somebody is going to ask.
  struct Wanted {
    std::set<Question> times;
    std::set<Scene> slowdowns;
    std::set<RoundTrip> round_trips;
  };

  /// Of the same cluster and ranks, with nothing found yet.
  CollectiveTimes(const CollectiveTimes& of, const GroupShapes& shapes);

  Site& site(const Shape& shape);
  Site& site(const Shape& shape, const CollectiveRun& taken);
  CollectiveRun run_of(Site& site, std::size_t group, Collective collective, std::int64_t bytes);
  const std::vector<Crowd>& crowds(Collective collective, const Shape& shape, std::int64_t bytes);
  const std::vector<Crowd>& crowds_seen(Collective collective, const Shape& shape,
                                        std::int64_t bytes);
  SceneExchange scene_of(const Exchange& exchange);
  std::vector<CollectiveRun> runs_of(const SceneExchange& exchange, const Cluster& cluster) const;
  Slowdown slowdown(const Scene& scene);
  Slowdown together(const SceneExchange& first, const SceneExchange& second);
  double nic_rate() const;  ///< of all NICs of a node
  Duration bound(Collective collective, const Shape& shape, int ranks, double bytes) const;
  /// Of each crowd, what its groups run.
  std::vector<std::vector<CollectiveRun>> crowd_runs(Collective collective, const Shape& shape,
                                                     std::int64_t bytes);
  CallSize size_of(Collective collective, const Shape& shape, std::int64_t bytes);
  CollectiveTime at(const Question& question);
  EpRoundTrip at(const RoundTrip& question);
  EpRoundTrip find(const RoundTrip& question);
  EpRoundTrip bound(const RoundTrip& question) const;
  Found find(const Question& question);
  CollectiveTime simulated(Collective collective, const Shape& shape, std::int64_t bytes);

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  CommunicatorConfig config_;
  Estimate estimate_;
  std::uint64_t slices_most_ = kSlicesMost;
  int gpus_per_node_;
  GroupShapes shapes_;
  std::map<Shape, Site> sites_;
  std::map<std::tuple<Shape, Algorithm, Protocol>, Site> forced_sites_;
  Memo<Question, CollectiveTime> known_;
  std::map<std::tuple<Collective, Shape, Way>, std::vector<Crowd>> crowds_;
  std::map<std::tuple<Collective, Shape, std::int64_t>, const std::vector<Crowd>*> crowds_of_calls_;
  Memo<Scene, Slowdown> slowdowns_;
  Memo<RoundTrip, EpRoundTrip> round_trips_;
  Memo<Connected, std::int64_t> communicator_bytes_;
  const ExpertKernels* kernels_ = nullptr;
  std::optional<ExpertWish> wish_;
  Answers found_;
  Wanted* wanted_ = nullptr;  ///< while it is only noted what is asked for
};

}  // namespace fabricast
