#include "models/studies/bench/fewer_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "models/hardware/cluster/leaves.hpp"
#include "models/nccl/run/affordable.hpp"
#include "models/nccl/run/exchange_bounds.hpp"
#include "models/nccl/run/extrapolation.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/symmetry/network_folds.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/scaled.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

/// On fewer nodes there is no network to speak of.
constexpr int kNodesLeast = 4;
/// Rings of fewer nodes take another share of their twin's time.
constexpr int kRingLeast = 8;
/// Of the budget one ring of fewer nodes may take an eighth: those on the larger number are three,
/// and those on the smaller one five, of a fourth of the events.
constexpr std::uint64_t kRings = 8;
/// What the larger and the smaller one of two calls may take of the budget.
constexpr double kOfMore = 0.7, kOfLess = 0.3;

bool has_full_leaves(const Cluster& cluster) {
  const int leaf = cluster.nodes_per_leaf();
  return cluster.hosts() <= leaf || cluster.hosts() % leaf == 0;
}

/// Sends and receives of many nodes come out of step as those of fewer do not: on either side, and
/// above for each doubling where the last leaf is not full. Chosen by all-to-alls on 40 to 3,000
/// nodes (docs/scale.md).
constexpr double kOutOfStep = 0.12, kOutOfStepEachDoubling = 0.45;

double out_of_step(const Cluster& cluster, int more) {
  if (has_full_leaves(cluster)) return kOutOfStep;
  return kOutOfStep +
         kOutOfStepEachDoubling * std::log2(static_cast<double>(cluster.hosts()) / more);
}

std::uint64_t weight_of(const NetworkPlan& network) {
  if (network.rung != Rung::chunk) return 1;
  switch (network.far_ways()) {
    case FarWays::by_destination:
      return 1;
    case FarWays::hashed:
      return kEventsOfHashedWay;
    case FarWays::carried:
      return kEventsOfChosenWay;
  }
  return 1;
}
/// By which the run is folded on the chunk rung.
Symmetry on_chunk_rung(const Cluster& cluster, const CollectiveRun& run, const Symmetry& symmetry,
                       const NetworkPlan& network) {
  return network.rung == Rung::chunk ? standing_symmetry(cluster, network, run, symmetry)
                                     : symmetry;
}

std::uint64_t share_of(std::uint64_t most, double share) {
  return static_cast<std::uint64_t>(static_cast<double>(most) * share);
}

bool grows_with_ranks(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::gather ||
         collective == Collective::scatter;
}

/// Of all ranks.
std::uint64_t events_on(Rung rung, const Cluster& cluster, const CollectiveRun& run,
                        const RunFacts& on_chunk) {
  const bool sends = !run.has_algorithm();
  if (rung == Rung::packet)
    return packets_passed_on(cluster, on_chunk) * (sends ? kEventsOfSentPacket : kEventsOfPacket);
  const auto nodes = static_cast<std::uint64_t>(cluster.nodes());
  return on_chunk.events * (sends ? kEventsOfSentFlow * nodes / 2 : kEventsOfFlow);
}

constexpr int kSomeLeaves = 4;

/// Nodes between leaves are unlike those below one: as many leaves as `whole` has, or some; the
/// last one is full where it is there, or where all have to be.
Cluster below_as_many_leaves(Cluster fewer, const Cluster& whole, bool all_full) {
  const int leaf = whole.nodes_per_leaf(), hosts = fewer.hosts();
  int smaller = (leaf * hosts + whole.hosts() / 2) / whole.hosts();
  smaller = std::max({1, smaller, hosts / kSomeLeaves});
  if (!all_full && whole.hosts() % leaf != 0 && hosts % smaller == 0 && smaller + 1 < hosts)
    ++smaller;
  if (whole.node().trays() > 1 || smaller >= leaf ||
      whole.layout().switches(SwitchTier::core) > 0 ||
      whole.fabric().kind == FabricConfig::Kind::dragonfly)
    return fewer;
  return {fewer.node(), fewer.nodes(), with_leaves(fewer, smaller)};
}

SimulationOptions folding(const NetworkPlan& network) {
  SimulationOptions out;
  out.network = network;
  out.fold = out.fast_forward = true;
  return out;
}

TimeRange alike(Duration time) { return {time, time}; }
/// A time that grows with the nodes.
TimeRange each_node(int nodes) { return alike(Duration{nodes * std::int64_t{1'000'000}}); }
MeasuredCall over_nodes(const MeasuredCall& call) {
  return {call.nodes, call.time, each_node(call.nodes)};
}

/// A run on a rung, within a budget.
class Measuring {
 public:
  Measuring(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
            const Symmetry& symmetry, const NetworkPlan& network)
      : cluster_(cluster), software_(software), run_(run), symmetry_(symmetry), network_(network) {}

  /// What its time is compared with. Nothing where that takes too long.
  std::optional<TimeRange> known(std::uint64_t most) {
    if (is_on_chunk()) return each_node(cluster_.hosts());
    if (!look_at_chunk(most)) return std::nullopt;
    return on_chunk_->bounds.events > 0
               ? TimeRange{on_chunk_->bounds.lower, on_chunk_->bounds.upper}
               : alike(on_chunk_->result.time);
  }

  /// In events; nothing where it takes more than `most` to know that.
  std::optional<std::uint64_t> events(std::uint64_t most) {
    if (is_on_chunk()) return events_on_chunk();
    if (!look_at_chunk(most) || on_chunk_->bounds.events > 0) return std::nullopt;
    const int copies = copies_simulated(cluster_, run_, symmetry_, folding(network_));
    return events_on(network_.rung, cluster_, run_, on_chunk_->result) /
           static_cast<std::uint64_t>(copies);
  }

  /// Nothing where it takes more than that.
  std::optional<TimeRange> taken(std::uint64_t most) {
    const std::optional<std::uint64_t> all = events(most);
    if (all && *all <= most)
      return alike(simulate(cluster_, software_, run_, symmetry_, folding(network_)).time);
    if (!is_on_chunk()) return std::nullopt;
    const auto found = bound_run(cluster_, software_, run_, symmetry_, most, network_, most);
    if (!found) return std::nullopt;
    return TimeRange{found->bounds.lower, found->bounds.upper};
  }

  /// Takes it away.
  std::optional<SimulationResult> simulated_on_chunk() {
    if (!on_chunk_ || on_chunk_->bounds.events > 0) return std::nullopt;
    return std::move(on_chunk_->result);
  }

 private:
  bool is_on_chunk() const { return network_.rung == Rung::chunk; }
  /// Not of what folds: fast-forward jumps over most of that.
  std::uint64_t events_on_chunk() const {
    if (!run_.has_algorithm())
      return weight_of(network_) * events_of_exchange(cluster_, software_, run_, symmetry_);
    if (symmetry_.copies() > 1) return 0;
    return job_size(cluster_, software_, run_, symmetry_).simulated;
  }

  /// False where it takes too long there, too.
  bool look_at_chunk(std::uint64_t most) {
    if (on_chunk_) return true;
    on_chunk_ = bound_run(cluster_, software_, run_, symmetry_, most, {}, most);
    if (on_chunk_) return true;
    if (events_on_chunk() > most) return false;
    on_chunk_ = BoundedRun{simulate(cluster_, software_, run_, symmetry_, folding({})), {}};
    return true;
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  const CollectiveRun& run_;
  const Symmetry& symmetry_;
  NetworkPlan network_;
  std::optional<BoundedRun> on_chunk_;
};

class FewerNodes {
 public:
  FewerNodes(const SoftwareCosts& software, const CallOnFewer& on_fewer, std::uint64_t most)
      : software_(software), on_fewer_(on_fewer), most_(most) {}

  /// The largest two below `nodes` that the budget allows, the larger one first.
  std::vector<MeasuredCall> find(int nodes) const {
    std::vector<MeasuredCall> out;
    for (int fewer = fewer_nodes(nodes); fewer >= kNodesLeast && out.size() < 2;
         fewer = fewer_nodes(fewer)) {
      const std::optional<PlacedCall> call = on_fewer_(fewer, 100);
      if (!call) break;
      if (auto one = measured(*call, share_of(most_, out.empty() ? kOfMore : kOfLess)))
        out.push_back(*one);
    }
    return out;
  }

 private:
  std::optional<MeasuredCall> measured(const PlacedCall& call, std::uint64_t most) const {
    const Symmetry symmetry =
        on_chunk_rung(call.cluster, call.run, find_symmetry(call.cluster, call.run), call.network);
    Measuring one(call.cluster, software_, call.run, symmetry, call.network);
    const std::optional<TimeRange> time = one.taken(most);
    if (!time) return std::nullopt;
    return MeasuredCall{call.cluster.hosts(), *time, *one.known(most)};
  }

  const SoftwareCosts& software_;
  const CallOnFewer& on_fewer_;
  std::uint64_t most_;
};

/// A ring that does not fold, whole. Nothing where it folds, has a leaf that is not full or takes
/// more than `most` events.
std::optional<RingWithTwin> ring_with_twin(const PlacedCall& call, const SoftwareCosts& software,
                                           std::uint64_t most) {
  const Symmetry symmetry = find_symmetry(call.cluster, call.run);
  if (symmetry.copies() > 1 || !has_full_leaves(call.cluster)) return std::nullopt;
  const std::uint64_t events = job_size(call.cluster, software, call.run, symmetry).simulated;
  if (events > most) return std::nullopt;
  const auto found =
      bound_run(call.cluster, software, call.run, symmetry, events - 1, call.network);
  if (!found) return std::nullopt;
  return RingWithTwin{
      call.cluster.nodes(),
      simulate(call.cluster, software, call.run, symmetry, folding(call.network)).time,
      found->even_chunks.upper};
}

}  // namespace

CallOnFewer on_fewer_nodes(const BenchConfig& config, const SoftwareCosts& software,
                           const Topology& topology, const NodesRequest& asked,
                           const Cluster& whole, const BenchRow& row) {
  const CollectiveRun& run = row.decided.run;
  if (!config.faults.empty() || !config.network.background.empty() || config.split ||
      run.custom != nullptr || run.calls > 1)
    return {};
  return [&config, &software, &topology, asked, &whole, &row](
             int nodes, int percent) -> std::optional<PlacedCall> {
    const CollectiveRun& all = row.decided.run;
    BenchConfig job = config;
    if (is_tuned(row.collective)) {
      job.environment.set("NCCL_ALGO", to_text(all.algorithm));
      job.environment.set("NCCL_PROTO", to_text(all.protocol));
    }
    NodesRequest fewer = asked;
    fewer.nodes = nodes * whole.node().trays();
    try {
      const bool is_ring = all.has_algorithm() && all.algorithm == Algorithm::ring &&
                           !has_root(row.collective) && config.network.rung == Rung::chunk;
      Site site = site_of(topology, job, fewer);
      site.cluster = below_as_many_leaves(std::move(site.cluster), whole, is_ring);
      const Communicator communicator = site.make();
      Bytes size = row.size;
      if (grows_with_ranks(row.collective) || is_ring)
        size.count = size.count / row.ranks * communicator.ranks;
      size.count = size.count / 100 * percent + size.count % 100 * percent / 100;
      std::optional<BenchRow> there =
          decided_row(job, site.cluster, software, communicator, row.collective, size);
      if (!there || there->is_peer_kernel()) return std::nullopt;
      CollectiveRun& smaller = there->decided.run;
      if (smaller.algorithm != all.algorithm || smaller.protocol != all.protocol)
        return std::nullopt;
      std::vector<std::string> notes;
      const NetworkPlan network =
          plan_network(job.network, site.cluster, job.environment, job.version, notes);
      return PlacedCall{std::move(site.cluster), network, std::move(smaller)};
    } catch (const Error&) {
      return std::nullopt;  // what NCCL refuses on so few
    }
  };
}

void narrow_by_fewer_nodes(BoundedRun& run, const Cluster& cluster, const SoftwareCosts& software,
                           const CollectiveRun& all, std::uint64_t most,
                           const CallOnFewer& on_fewer) {
  if (!all.has_algorithm()) return;
  const CallSize whole = size_of_call(all, run.bounds.events);
  const auto ring = [&](int nodes, int percent) -> std::optional<RingWithTwin> {
    const std::optional<PlacedCall> call = on_fewer(nodes, percent);
    if (!call) return std::nullopt;
    const CallSize there = size_of_call(call->run, 0);
    if (!there.takes_as(whole) || there.cut != whole.cut) return std::nullopt;
    return ring_with_twin(*call, software, most / kRings);
  };
  std::vector<RingWithTwin> calls;
  const auto below = std::bit_floor(static_cast<unsigned>(cluster.nodes() - 1));
  for (int fewer = static_cast<int>(below); fewer >= kRingLeast && calls.size() < 2; fewer /= 2) {
    // Each of the ranks has as many steps as there are ranks.
    const double share = static_cast<double>(fewer) / cluster.nodes();
    if (static_cast<double>(whole.simulated) * share * share > static_cast<double>(most)) continue;
    if (auto one = ring(fewer, 100)) {
      calls.push_back(*one);
    } else if (!calls.empty()) {
      return;
    }
  }
  if (calls.size() < 2) return;
  std::vector<RingWithTwin> near;
  const auto add_near = [&](int nodes, std::initializer_list<int> percents) {
    for (const int percent : percents)
      if (auto one = ring(nodes, percent)) near.push_back(*one);
  };
  add_near(calls[0].nodes, {97, 103});
  add_near(calls[1].nodes, {94, 97, 103, 106});
  run.bounds = narrowed({calls[0], calls[1], near}, cluster.nodes(), run.even_chunks, run.bounds);
  run.bounds.how += fmt::format(", and what {} and {} take of theirs", calls[1].nodes,
                                counted(calls[0].nodes, "node"));
  run.result.time = run.bounds.middle();
}

FewerSay extrapolated_run(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Symmetry& symmetry,
                          const NetworkPlan& network, std::uint64_t most,
                          const CallOnFewer& on_fewer) {
  // Rings may jump over all that repeats, so that nobody knows what they take; and of trees NCCL
  // cuts chunks by the number of nodes.
  const int ranks = members_of(run, cluster.nodes()).ranks();
  const Symmetry standing = on_chunk_rung(cluster, run, symmetry, network);
  if (network.rung == Rung::chunk &&
      (run.has_algorithm() ||
       is_small_exchange(run, ranks, standing.copies(), most / weight_of(network))))
    return {};
  Measuring whole(cluster, software, run, standing, network);
  const std::optional<std::uint64_t> events = whole.events(most / 2);
  if (events && *events <= most) return {{}, whole.simulated_on_chunk()};
  const std::optional<TimeRange> known = whole.known(most / 2);
  if (!known) return {};
  const std::vector<MeasuredCall> calls =
      FewerNodes(software, on_fewer, most).find(cluster.nodes());
  if (calls.size() < 2) return {{}, whole.simulated_on_chunk()};
  BoundedRun out;
  out.bounds = extrapolated(calls[0], calls[1], cluster.hosts(), *known);
  out.bounds.how =
      fmt::format("the same call on {} and {}", calls[1].nodes, counted(calls[0].nodes, "node"));
  if (network.rung == Rung::chunk) {
    out.bounds.lower = scaled(out.bounds.lower, 1 - kOutOfStep);
    out.bounds.upper = scaled(out.bounds.upper, 1 + out_of_step(cluster, calls[0].nodes));
  } else {
    out.bounds.how += ", over its time on the chunk rung";
  }
  if (network.rung != Rung::chunk && !run.has_algorithm()) {
    out.bounds.how += " and for each node";
    const TimeBounds by_nodes = extrapolated(over_nodes(calls[0]), over_nodes(calls[1]),
                                             cluster.hosts(), each_node(cluster.hosts()));
    out.bounds.lower = std::min(out.bounds.lower, by_nodes.lower);
    out.bounds.upper = std::max(out.bounds.upper, by_nodes.upper);
  }
  out.bounds.events = events.value_or(0);
  out.bounds.is_proven = false;
  out.result.time = out.bounds.middle();
  out.result.why_not_folded = standing.why_not;
  return {std::move(out), {}};
}

}  // namespace fabricast
