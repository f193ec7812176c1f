// Two jobs on one fabric: what each takes from the other while both call, and what that makes of
// their steps.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/nccl/environment/settings.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/side_by_side.hpp"
#include "models/studies/bench/network.hpp"
#include "models/studies/placement/placed_job.hpp"
#include "models/studies/placement/placement_parts.hpp"
#include "models/training/calls/group_call.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "sim/base/add_once.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::uint64_t kPairSlicesMost = 3'000'000;  ///< of both jobs: larger calls are halved
constexpr Bytes kSmallest{4 << 20};
constexpr std::size_t kTrunksNamed = 6;
/// Of a layout: what is slowed is the rate, so that a larger call would tell the same.
constexpr Bytes kStepCall{64 << 20};

/// A collective that groups of a job's ranks make side by side.
struct Exchange {
  std::string what;  ///< "all_reduce", "reduce_scatter of DP"
  Collective collective{};
  Bytes size;
  std::vector<std::vector<int>> groups;  ///< ranks of each; empty = all ranks
};

/// Groups that cover the job, by their ranks.
std::vector<std::vector<int>> groups_of(const RankGroup& group, int ranks) {
  std::vector<std::vector<int>> out;
  std::vector<char> seen(static_cast<std::size_t>(ranks));
  for (int first = 0; first < ranks; ++first) {
    std::vector<int> one;
    for (int outer = 0; outer < group.outer; ++outer)
      for (int i = 0; i < group.size; ++i)
        one.push_back(first + i * group.stride + outer * group.outer_stride);
    const bool fits = one.back() < ranks && std::ranges::none_of(one, [&](int rank) {
                        return seen[static_cast<std::size_t>(rank)] != 0;
                      });
    if (!fits) continue;
    for (const int rank : one) seen[static_cast<std::size_t>(rank)] = 1;
    out.push_back(std::move(one));
  }
  return out;
}

/// What a step calls between nodes: how long, exposed and hidden, and the call that takes longest.
struct StepTraffic {
  double step = 0, exposed = 0, hidden = 0;
  Exchange exchange;
};

StepTraffic traffic_of(const StepResult& result, int gpus_per_node) {
  const Layout& layout = result.config.layout;
  const StepBreakdown& parts = result.step.breakdown;
  StepTraffic out;
  out.step = seconds(result.step.time);
  double most = 0;
  const auto add = [&](const char* kind, Collective collective, const RankGroup& group,
                       double exposed, double hidden) {
    const int span = (group.size - 1) * group.stride + (group.outer - 1) * group.outer_stride;
    if (group.ranks() < 2 || span < gpus_per_node) return;
    out.exposed += exposed;
    out.hidden += hidden;
    if (exposed + hidden <= most) return;
    most = exposed + hidden;
    out.exchange = {fmt::format("{} of {}", to_text(collective), kind), collective, kStepCall,
                    groups_of(group, layout.gpus)};
  };
  add("DP", Collective::reduce_scatter, dense_data_group(layout), seconds(parts.data),
      seconds(parts.data_hidden));
  add("TP", Collective::all_gather, tensor_group(layout), parts.busy.tensor,
      parts.busy.tensor_hidden);
  add("CP", Collective::sendrecv, context_group(layout), parts.busy.context,
      parts.busy.context_hidden);
  add("EP", Collective::alltoall, expert_group(layout), parts.busy.expert,
      parts.busy.expert_hidden);
  return out;
}

/// A job on the cluster of both.
struct Side {
  NeighbourJob* told = nullptr;
  PlacedJob job;
  Exchange exchange;
  std::vector<CollectiveRun> runs;
  NetworkPlan plan;  ///< its priority, on the flow rung
  Place settings_at = {};
};

class Pair {
 public:
  Pair(const PlacementConfig& config, const SeatPlan& plan, const PartsCatalogue& parts,
       const ForEach& for_each, std::vector<std::string>& notes)
      : config_(config),
        plan_(plan),
        communicator_(plan.nodes().host().communicator),
        parts_(parts),
        for_each_(for_each),
        notes_(notes) {}

  NeighbourResult run(const std::vector<int>& self) {
    const Neighbour& other = *config_.neighbour;
    const std::vector<int> theirs = hosts_of_neighbour(config_);
    const std::optional<StepTraffic> my_step = step_of(config_.step, self),
                                     their_step = step_of(other.step, theirs);
    const bool joins = placed(other.environment_at, [&] {
      return joins_nvlink_domain(other.environment, communicator_.version);
    });
    const Seating seating =
        plan_.seat({{self, true}, {theirs, joins}},
                   my_step || their_step ? Uneven::in_pieces : Uneven::as_least);
    const Cluster cluster = plan_.cluster(seating);
    CommunicatorConfig theirs_config = communicator_;
    theirs_config.environment = other.environment;
    const auto job = [&](const CommunicatorConfig& wanted, std::size_t number) {
      return PlacedJob(plan_, cluster, wanted, seating.jobs[number], seating.trays,
                       plan_.nodes().gpus_per_host());
    };
    Side a{&out_.self, job(communicator_, 0), exchange(my_step), {}, {}};
    Side b{&out_.other,
           placed(other.environment_at, [&] { return job(theirs_config, 1); }),
           exchange(their_step, other),
           {},
           {},
           other.environment_at};
    a.told->name = "this";
    b.told->name = other.title.empty() ? "neighbour" : other.title;
    a.told->hosts = static_cast<int>(self.size());
    b.told->hosts = static_cast<int>(theirs.size());
    shared_leaves(self, theirs);
    set_plan(a, cluster, communicator_.environment, notes_);
    std::vector<std::string> of_theirs;
    placed(b.settings_at, [&] { set_plan(b, cluster, other.environment, of_theirs); });
    for (const std::string& warning : b.job.warnings()) add_once(of_theirs, warning);
    for (const std::string& note : of_theirs)
      if (std::ranges::find(notes_, note) == notes_.end())
        notes_.push_back(fmt::format("{}: {}", b.told->name, note));
    shrink(cluster, a, b);
    out_.by_class = a.plan.priority != b.plan.priority;
    if (out_.by_class) {
      by_class(cluster, a, b);
    } else {
      together(cluster, a, b);
    }
    steps(my_step, their_step);
    return std::move(out_);
  }

 private:
  std::optional<StepTraffic> step_of(const std::optional<StepConfig>& config,
                                     const std::vector<int>& hosts) const {
    if (!config) return std::nullopt;
    const StepResult result = placed_step(*config, plan_, hosts, parts_, for_each_);
    const bool joins = nodes_of(*config, 1).joins_domains;
    const int trays = plan_.seat({{hosts, joins}}, Uneven::in_pieces).trays;
    StepTraffic out = traffic_of(result, plan_.nodes().gpus_per_host() * trays);
    if (out.exchange.groups.empty())
      throw Error("a layout whose groups all stay inside nodes takes nothing from others",
                  "leave the neighbour out");
    return out;
  }

  Exchange exchange(const std::optional<StepTraffic>& step) const {
    if (step) return step->exchange;
    const Collective collective = config_.collectives.front();
    return {std::string(to_text(collective)), collective, std::ranges::max(config_.sizes), {}};
  }
  static Exchange exchange(const std::optional<StepTraffic>& step, const Neighbour& other) {
    if (step) return step->exchange;
    return {std::string(to_text(other.collective)), other.collective, other.size, {}};
  }

  void shared_leaves(const std::vector<int>& self, const std::vector<int>& theirs) {
    std::set<int> mine;
    for (const int host : self) mine.insert(plan_.leaf_of(host));
    for (const int host : theirs)
      if (mine.contains(plan_.leaf_of(host)))
        add_once(out_.leaves, plan_.leaf_name(plan_.leaf_of(host)));
  }

  void set_plan(Side& side, const Cluster& cluster, const Environment& environment,
                std::vector<std::string>& notes) const {
    NetworkConfig network;
    network.rung = Rung::flow;
    side.plan = plan_network(network, cluster, environment, communicator_.version, notes);
    side.told->priority = side.plan.priority;
  }

  void decide(Side& side) {
    side.runs.clear();
    if (side.exchange.groups.empty()) {
      side.runs.push_back(side.job.decide(side.exchange.collective, side.exchange.size).run);
    } else {
      for (const std::vector<int>& ranks : side.exchange.groups)
        side.runs.push_back(
            side.job.decide(ranks, side.exchange.collective, side.exchange.size).run);
    }
    side.told->call = fmt::format("{} {}", to_text(side.exchange.size), side.exchange.what);
  }

  std::uint64_t size(const Cluster& cluster, const Side& side) const {
    const std::vector<Stream> all = streams_of(side.runs);
    return job_size(cluster, parts_.software, all, plan_job(cluster, all)).slices;
  }

  /// Halves calls until both jobs can be simulated whole.
  void shrink(const Cluster& cluster, Side& a, Side& b) {
    for (Side* const side : {&a, &b}) {
      placed(side->settings_at, [&] { decide(*side); });
      while (size(cluster, *side) > kPairSlicesMost / 2 && side->exchange.size > kSmallest) {
        side->exchange.size.count /= 2;
        decide(*side);
      }
    }
  }

  double slowest(std::span<const StreamResult> of) const {
    return microseconds_of(std::ranges::max_element(of, {}, &StreamResult::time)->time);
  }

  void together(const Cluster& cluster, const Side& a, const Side& b) {
    const TwoJobs jobs = side_by_side(cluster, parts_.software, a.runs, b.runs);
    a.told->alone_us = microseconds_of(jobs.first.call);
    b.told->alone_us = microseconds_of(jobs.second.call);
    out_.self.slowdown = jobs.first.slowdown;
    out_.other.slowdown = jobs.second.slowdown;
    name_trunks(cluster, jobs);
  }

  void name_trunks(const Cluster& cluster, const TwoJobs& jobs) {
    const StreamsResult& mine = jobs.first.alone;
    for (const LinkLoad& load : jobs.both.links) {  // busiest first
      if (!cluster.is_trunk(load.link) || out_.trunks.size() == kTrunksNamed) continue;
      const auto own = std::ranges::find(mine.links, load.link, &LinkLoad::link);
      if (own == mine.links.end() || own->carried.count >= load.carried.count) continue;
      out_.trunks.push_back(
          {cluster.link_name(load.link), load.utilisation,
           static_cast<double>(own->carried.count) / static_cast<double>(load.carried.count)});
    }
  }

  /// Each on the flow rung, beside what the other one loads links with when it is alone, in its
  /// class: higher ones take what they need, lower ones get what is left.
  void by_class(const Cluster& cluster, Side& a, Side& b) {
    const auto run = [&](const Side& side, const NetworkPlan& plan) {
      SimulationOptions options;
      options.network = plan;
      return simulate(cluster, parts_.software, streams_of(side.runs), options);
    };
    const StreamsResult alone_a = run(a, a.plan), alone_b = run(b, b.plan);
    const auto beside = [&](Side& side, const StreamsResult& own, const StreamsResult& other,
                            std::uint8_t priority) {
      NetworkPlan plan = side.plan;
      for (const LinkLoad& load : other.links)
        if (index_of(load.link) < cluster.cables() && cluster.is_trunk(load.link))
          plan.background.push_back({load.link, std::min(load.utilisation, 0.99), priority});
      side.told->alone_us = slowest(own.streams);
      side.told->slowdown = std::max(1.0, slowest(run(side, plan).streams) / side.told->alone_us);
    };
    beside(a, alone_a, alone_b, b.plan.priority);
    beside(b, alone_b, alone_a, a.plan.priority);
    add_once(notes_, std::string("the jobs have classes of their own: each is simulated beside the "
                                 "other's mean load of links, by flows."));
  }

  /// A call meets one of the other job for the share of its step in which that has any under way.
  /// What calls take longer than is at least what of them is exposed, and at most all of it.
  void steps(const std::optional<StepTraffic>& mine, const std::optional<StepTraffic>& theirs) {
    const auto share = [](const std::optional<StepTraffic>& of) {
      return of ? std::min(1.0, (of->exposed + of->hidden) / of->step) : 1.0;
    };
    const auto add = [&](NeighbourJob& job, const std::optional<StepTraffic>& own, double met) {
      job.network_share = share(own);
      if (!own) return;
      const double longer = met * (job.slowdown - 1);
      job.step_s = own->step;
      job.step_least_s = own->step + longer * own->exposed;
      job.step_most_s = own->step + longer * (own->exposed + own->hidden);
    };
    add(out_.self, mine, share(theirs));
    add(out_.other, theirs, share(mine));
  }

  const PlacementConfig& config_;
  const SeatPlan& plan_;
  const CommunicatorConfig communicator_;
  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  std::vector<std::string>& notes_;
  NeighbourResult out_;
};

}  // namespace

NeighbourResult run_neighbour(const PlacementConfig& config, const SeatPlan& plan,
                              const std::vector<int>& self, const PartsCatalogue& parts,
                              const ForEach& for_each, std::vector<std::string>& notes) {
  return Pair(config, plan, parts, for_each, notes).run(self);
}

}  // namespace fabricast
