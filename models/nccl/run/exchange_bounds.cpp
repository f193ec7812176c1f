#include "models/nccl/run/exchange_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/planned.hpp"
#include "models/nccl/symmetry/near_copies.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

class ExchangeTwins {
 public:
  ExchangeTwins(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run)
      : cluster_(cluster),
        software_(software),
        run_(run),
        members_(members_of(run, cluster.nodes())),
        healthy_(cluster.node(), cluster.nodes(), cluster.fabric()) {
    for (std::uint32_t id = 0; cluster.has_own_rates() && id < cluster.links(); ++id)
      if (cluster.link(LinkId{id}).rate != healthy_.link(LinkId{id}).rate)
        odd_links_.push_back(LinkId{id});
  }

  static bool are_known(const Cluster& cluster, const CollectiveRun& run) {
    if (run.has_algorithm() || run.collective != Collective::alltoall || run.traffic != nullptr ||
        run.calls > 1 || !run.faults.outages.empty())
      return false;
    const Members members = members_of(run, cluster.nodes());
    const FabricConfig& fabric = cluster.fabric();
    return !members.is_split() && cluster.nodes() > 1 && members.node_count() == cluster.nodes() &&
           std::ranges::is_sorted(members.nodes()) && run.transport.network.fused.empty() &&
           fabric.racks.pitch_metres == 0 && fabric.racks.row_pitch_metres == 0 &&
           (fabric.routing == Routing::by_destination || fabric.routing == Routing::adaptive);
  }

  /// `whole`: the run's own symmetry.
  std::optional<BoundedRun> find(const Symmetry& whole, std::uint64_t most, std::uint64_t dearest) {
    if (are_racks()) return find_racks(whole, most, dearest);
    if (!is_faulty()) return std::nullopt;
    const Twin like = twin(healthy_, {});
    const std::uint64_t folded = cost(like);
    const std::uint64_t all = folded * static_cast<std::uint64_t>(like.symmetry.copies()) /
                              static_cast<std::uint64_t>(whole.copies());
    if (like.symmetry.copies() == 1 || all <= most || folded > dearest) return std::nullopt;
    std::optional<Twin> slow = with_faults(like, most);
    if (!slow) return std::nullopt;
    const SimulationResult faster = ran(like);
    return bounded(like, {std::max(faster.time, busiest(like, faster)), kFaultsFaster},
                   {ran(*slow), kFaultsSlower}, all);
  }

 private:
  struct Twin {
    Cluster cluster;
    CollectiveRun run;
    Symmetry symmetry;
  };

  /// Of racks that NVLink makes one node each: as many as `most` allows, or the fewest that say
  /// something, for the others too.
  std::optional<BoundedRun> find_racks(const Symmetry& whole, std::uint64_t most,
                                       std::uint64_t dearest) {
    if (is_faulty() || !cluster_.has_two_tiers()) return std::nullopt;
    const std::uint64_t all = cost({healthy_, run_, whole});
    if (all <= most) return std::nullopt;
    std::optional<Twin> like;
    for (int racks = whole.nodes() / 2; racks >= kRacksLeast; --racks) {
      if (whole.nodes() % racks != 0) continue;
      like = Twin{healthy_, run_, find_symmetry(healthy_, run_)};
      like->symmetry.moves = {near_copies(healthy_, members_.gpus_per_node(), racks)};
      if (cost(*like) <= most) break;
    }
    if (!like || cost(*like) > dearest) return std::nullopt;
    SimulationResult result = ran(*like);
    const Duration time = result.time;
    const RacksApart& apart =
        cluster_.hosts() % cluster_.nodes_per_leaf() == 0 ? kRacksOnFullLeaves : kRacks;
    return bounded(*like, {time, apart.faster}, {std::move(result), apart.slower}, all);
  }

  /// Bounds so far from a time, as a share of it.
  struct Faster {
    Duration time;
    double apart = 0;
  };
  struct Slower {
    SimulationResult result;
    double apart = 0;
  };
  BoundedRun bounded(const Twin& like, Faster faster, Slower slower, std::uint64_t events) const {
    BoundedRun out{std::move(slower.result), {}};
    out.bounds.lower = scaled(faster.time, 1 - faster.apart);
    out.bounds.upper = scaled(std::max(faster.time, out.result.time), 1 + slower.apart);
    out.bounds.events = events;
    out.bounds.how = how(like);
    out.result.time = out.bounds.middle();
    out.result.links.clear();
    out.result.rank_finish.clear();
    return out;
  }

  bool are_racks() const { return cluster_.hosts() != cluster_.nodes(); }
  bool is_faulty() const { return !odd_links_.empty() || !run_.faults.gpus.empty(); }

  Twin twin(const Cluster& cluster, std::vector<Faults::SlowGpu> gpus) const {
    Twin out{cluster, run_, {}};
    out.run.faults.gpus = std::move(gpus);
    out.symmetry = find_symmetry(out.cluster, out.run);
    return out;
  }

  JobPlan plan_of(const Stream& stream, const Twin& twin) const {
    return plan_job(twin.cluster, stream, twin.symmetry);
  }
  std::uint64_t cost(const Twin& twin) const {
    const Stream stream{{twin.run}, {}};
    return events_of_exchange(twin.cluster, software_, stream, plan_of(stream, twin));
  }
  SimulationResult ran(const Twin& twin) const {
    const Stream stream{{twin.run}, {}};
    SimulationOptions options;
    options.fold = options.fast_forward = true;
    return simulate_planned(twin.cluster, software_, stream, plan_of(stream, twin), options);
  }

  /// The same faults on all rails of a node, and on all nodes that are `period_` apart: the most
  /// nodes that `most` allows. Nothing where a fault is between switches.
  std::optional<Twin> with_faults(const Twin& like, std::uint64_t most) {
    const int nodes = cluster_.nodes(), least = like.symmetry.nodes();
    const std::uint64_t one = std::max<std::uint64_t>(cost(like) / static_cast<unsigned>(least), 1);
    for (int period = least; period <= nodes; period += least)
      if (nodes % period == 0 && one * static_cast<unsigned>(period) <= most) period_ = period;
    if (period_ == 0) return std::nullopt;
    Cluster cluster = healthy_;
    for (const LinkId link : odd_links_) {
      if (cluster_.is_trunk(link)) return std::nullopt;
      const int node = cluster_.first_node_of(link) % period_;
      const LinkId like_it = like.symmetry.representative(cluster_, link);
      for (const LinkId other : links_of(node)) {
        if (like.symmetry.representative(cluster_, other) != like_it) continue;
        for (int at = 0; at < nodes; at += period_) {
          const LinkId there = healthy_.moved_back(other, -at);
          cluster.set_rate(there, std::min(cluster.link(there).rate, cluster_.link(link).rate));
        }
      }
    }
    return twin(cluster, slow_gpus());
  }

  std::vector<LinkId> links_of(int node) const {
    std::vector<LinkId> out;
    for (std::uint32_t local = 0; local < cluster_.node().links().size(); ++local)
      out.push_back(cluster_.global(node, LinkId{local}));
    for (const NicInfo& nic : cluster_.node().nics()) {
      out.push_back(cluster_.nic_to_leaf(node, nic.vertex));
      out.push_back(cluster_.leaf_to_nic(node, nic.vertex));
    }
    return out;
  }

  std::vector<Faults::SlowGpu> slow_gpus() const {
    std::map<int, double> speeds;  // by node
    const int gpus = members_.gpus_per_node();
    for (const Faults::SlowGpu& gpu : run_.faults.gpus) {
      const auto [at, is_new] = speeds.try_emplace(gpu.rank / gpus % period_, gpu.speed);
      if (!is_new) at->second = std::min(at->second, gpu.speed);
    }
    std::vector<Faults::SlowGpu> out;
    for (int first = 0; first < cluster_.nodes(); first += period_)
      for (const auto& [node, speed] : speeds)
        for (int local = 0; local < gpus; ++local)
          out.push_back({(first + node) * gpus + local, speed});
    return out;
  }

  /// What a slow link takes for its bytes alone.
  Duration busiest(const Twin& like, const SimulationResult& result) const {
    std::map<LinkId, Bytes> carried;
    for (const LinkLoad& load : result.links) carried[load.link] = load.carried;
    Duration out;
    for (const LinkId link : odd_links_) {
      const auto at = carried.find(like.symmetry.representative(like.cluster, link));
      if (at != carried.end())
        out = std::max(out, transfer_time(at->second, cluster_.link(link).rate));
    }
    return out;
  }

  std::string how(const Twin& like) const {
    if (are_racks())
      return fmt::format("{} of {} racks, as if leaves began alike for the others",
                         like.symmetry.nodes(), cluster_.nodes());
    std::string out = "the same call without faults and with them on all rails of the node";
    if (period_ < cluster_.nodes()) out += fmt::format(", and of every {} nodes", period_);
    return out;
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  const CollectiveRun& run_;
  Members members_;
  Cluster healthy_;
  std::vector<LinkId> odd_links_;  ///< with a rate of their own
  int period_ = 0;                 ///< of nodes, that have the faults of the slower twin
};

}  // namespace

bool is_small_exchange(const CollectiveRun& run, int ranks, int copies, std::uint64_t most) {
  const auto pairs = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks) /
                     static_cast<std::uint64_t>(copies);
  const auto message = static_cast<std::uint64_t>(run.count * run.element_bytes);
  const auto channels = static_cast<std::uint64_t>(run.p2p.rules.channels.per_peer);
  return pairs * (message / 4096 + channels) * (kEventsOfChunk + kEventsOfMessage) <= most;
}

std::uint64_t events_of_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                 const Stream& stream, const JobPlan& plan) {
  const CollectiveRun& run = stream.runs.front();
  const JobSize size = job_size(cluster, software, {&stream, 1}, plan);
  const auto ranks = static_cast<std::uint64_t>(members_of(run, cluster.nodes()).ranks());
  // Of all messages those that are simulated, as of all chunks.
  const std::uint64_t copies =
      std::max<std::uint64_t>(size.slices / std::max<std::uint64_t>(size.simulated, 1), 1);
  const auto messages =
      ranks * ranks / copies * static_cast<std::uint64_t>(run.p2p.rules.channels.per_peer);
  const std::uint64_t events =
      kEventsOfMessage * std::min(messages, size.simulated) + kEventsOfChunk * size.simulated;
  const bool are_racks = cluster.node().trays() > 1 && cluster.nodes() > 1;
  return are_racks ? events * kPercentOfRacks / 100 : events;
}

std::uint64_t events_of_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                 const CollectiveRun& run, const Symmetry& symmetry) {
  const Stream stream{{run}, {}};
  return events_of_exchange(cluster, software, stream, plan_job(cluster, stream, symmetry));
}

std::optional<BoundedRun> bound_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                         const CollectiveRun& run, const Symmetry& symmetry,
                                         std::uint64_t most, std::uint64_t dearest) {
  if (!ExchangeTwins::are_known(cluster, run)) return std::nullopt;
  const int ranks = members_of(run, cluster.nodes()).ranks();
  if (is_small_exchange(run, ranks, symmetry.copies(), most)) return std::nullopt;
  return ExchangeTwins(cluster, software, run).find(symmetry, most, dearest);
}

}  // namespace fabricast
