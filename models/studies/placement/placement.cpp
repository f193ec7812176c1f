#include "models/studies/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <set>

#include "models/studies/bench/network.hpp"
#include "models/studies/placement/candidates.hpp"
#include "models/studies/placement/placed_job.hpp"
#include "models/studies/placement/placement_parts.hpp"
#include "models/studies/shared/call_times.hpp"
#include "models/studies/shared/site.hpp"
#include "models/training/calls/collective_times.hpp"
#include "sim/base/add_once.hpp"
#include "text/counted.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// Above it calls are extrapolated over sizes. The shortest ring has as many slices as the square
/// of its ranks, and fewer ranks would be another allocation.
std::uint64_t slices_most(std::size_t ranks) {
  const std::uint64_t times = std::max<std::uint64_t>(1, ranks / 128);
  return std::min<std::uint64_t>(2'000'000 * times * times, 60'000'000);
}
/// Allocations that differ by less are equal: nobody swaps hosts for that.
constexpr double kEqual = 0.02;
constexpr std::size_t kNamesHinted = 4096;

/// What allocations take, all of them side by side.
class AllocationTimes {
 public:
  AllocationTimes(const SeatPlan& plan, std::size_t hosts, const SoftwareCosts& software,
                  const ForEach& for_each)
      : plan_(plan),
        gpus_(plan.nodes().gpus_per_host()),
        ranks_(static_cast<int>(hosts) * gpus_),
        times_(software, slices_most(static_cast<std::size_t>(ranks_)), for_each) {}

  std::size_t add(const std::vector<int>& hosts) {
    const Seating seating = plan_.seat(hosts);
    const auto found = std::ranges::find_if(
        placed_, [&](const Placed& one) { return one.seating.is_alike(seating); });
    if (found != placed_.end()) return static_cast<std::size_t>(found - placed_.begin());
    placed_.emplace_back(plan_, seating, gpus_);
    return placed_.size() - 1;
  }

  /// Times by row, of each that was added.
  std::vector<std::vector<double>> run(std::vector<PlacementRow>& rows) {
    std::vector<TimeRecipe> recipes;
    for (Placed& one : placed_)
      for (const PlacementRow& row : rows) number(one, row.collective, row.size);
    times_.look_at_all();
    for (Placed& one : placed_)
      for (PlacementRow& row : rows) recipes.push_back(recipe(one, row));
    std::vector<const TimeRecipe*> all;
    for (const TimeRecipe& one : recipes) all.push_back(&one);
    times_.simulate(all);
    std::vector<std::vector<double>> out;
    for (std::size_t i = 0; i < recipes.size(); ++i) {
      if (i % rows.size() == 0) out.emplace_back();
      out.back().push_back(times_.time_us(recipes[i]));
    }
    return out;
  }

  const std::vector<std::string>& warnings() { return placed_.front().job.warnings(); }

 private:
  struct Placed {
    Placed(const SeatPlan& plan, Seating where, int gpus)
        : seating(std::move(where)),
          cluster(plan.cluster(seating)),
          job(plan, cluster, plan.nodes().host().communicator, seating.jobs.front(), seating.trays,
              gpus) {}
    Seating seating;
    Cluster cluster;
    PlacedJob job;
    std::map<std::pair<Collective, std::int64_t>, std::size_t> calls;
  };

  std::size_t number(Placed& one, Collective collective, Bytes size) {
    const std::pair key(collective, size.count);
    const auto found = one.calls.find(key);
    if (found != one.calls.end()) return found->second;
    const std::size_t out = times_.add(one.cluster, one.job.decide(collective, size).run);
    one.calls.emplace(key, out);
    return out;
  }

  /// Over sizes only: fewer nodes would be another allocation.
  TimeRecipe recipe(Placed& one, PlacementRow& row) {
    const CallAt whole{static_cast<int>(one.seating.jobs.front().nodes.size()), row.size};
    TimeRecipe out = times_.recipe(whole, [&](const CallAt& at) -> std::optional<std::size_t> {
      if (at.nodes != whole.nodes) return std::nullopt;
      return number(one, row.collective, at.size);
    });
    if (!out.exists())
      throw Error(fmt::format("a call of {} ranks is too large to be simulated", one.job.ranks()),
                  "fewer hosts, or other sizes");
    const CollectiveRun run = one.job.decide(row.collective, row.size).run;
    row.ranks = ranks_;
    row.algorithm = is_tuned(row.collective) ? to_text(run.algorithm) : "none";
    row.protocol = to_text(run.protocol);
    return out;
  }

  const SeatPlan& plan_;
  int gpus_, ranks_;
  CallTimes times_;
  std::deque<Placed> placed_;
};

class Study {
 public:
  Study(const PlacementConfig& config, const PartsCatalogue& parts, const ForEach& for_each)
      : parts_(parts), for_each_(for_each) {
    result_.config = config;
  }

  PlacementResult run() {
    HostNodes nodes(config(), parts_);
    const Cluster& host = nodes.host().cluster;
    const SeatPlan plan(config().tree, config().tree_file, nodes, fabric_of(host));
    result_.topology = host.node().name();
    result_.by_domain = plan.by_domain();
    std::vector<int> now = hosts_of_job(), open = open_hosts(now);
    result_.nodes = static_cast<int>(now.size());
    for (const Collective collective : config().collectives)
      for (const Bytes size : config().sizes) result_.rows.push_back({collective, size, 0, {}, {}});
    result_.fabric = plan.fabric_summary(now);
    for (const std::string& note : config().tree.notes) note_once(note);
    for (const std::string& note : plan.notes()) note_once(note);
    compare(plan, now, open);
    if (config().step) add_steps(plan);
    if (std::string text = static_instead(host); !text.empty()) note_once(text);
    if (host.fabric().is_default)
      note_once(
          fmt::format("no fabric was named: rails with {} are assumed, a leaf for each that "
                      "the tree has. --fabric says what there is.",
                      config().oversubscription > 1
                          ? fmt::format("{}:1 oversubscription", config().oversubscription)
                          : std::string("no oversubscription")));
    if (config().neighbour)
      result_.neighbour = run_neighbour(config(), plan, now, parts_, for_each_, result_.notes);
    return std::move(result_);
  }

 private:
  const PlacementConfig& config() const { return result_.config; }
  void note_once(const std::string& text) { add_once(result_.notes, text); }

  FabricConfig fabric_of(const Cluster& host) const {
    FabricConfig out = host.fabric();
    if (config().oversubscription > 0) out.oversubscription = config().oversubscription;
    return out;
  }

  std::vector<int> hosts_of_job() const {
    const std::vector<std::string> names =
        config().hosts.empty() ? config().tree.names() : config().hosts;
    std::vector<int> out = hosts_by_name(config().tree, config().tree_file, names, "the job");
    if (out.size() < 2) throw Error("one host: there is nothing to place", "--hosts names several");
    if (std::ssize(out) > kPlacedHostsMax)
      throw Error(fmt::format("{} hosts: at most {} are placed", out.size(), kPlacedHostsMax));
    return out;
  }

  /// The job's, and what is free. Hosts of the neighbour are taken.
  std::vector<int> open_hosts(const std::vector<int>& now) const {
    const HostTree& tree = config().tree;
    std::vector<int> out(tree.hosts.size());
    std::iota(out.begin(), out.end(), 0);
    if (!config().free.empty()) {
      out = hosts_by_name(tree, config().tree_file, config().free, "--free");
      for (const int host : now)
        if (std::ranges::find(out, host) == out.end()) out.push_back(host);
    }
    if (!config().neighbour) return out;
    const std::vector<int> taken = hosts_of_neighbour(config());
    for (const int host : taken)
      if (std::ranges::find(now, host) != now.end())
        throw Error(config().neighbour->hosts_at,
                    fmt::format("host {} is in the job and in the neighbour",
                                tree.hosts[static_cast<std::size_t>(host)].name));
    std::erase_if(out, [&](int host) { return std::ranges::find(taken, host) != taken.end(); });
    return out;
  }

  Allocation described(const SeatPlan& plan, std::string name,
                       const std::vector<int>& hosts) const {
    Allocation out{std::move(name), {}, {}, {}, group_crossings(plan, hosts), {}, {}};
    const auto count = [](std::vector<GroupShare>& shares, const std::string& share) {
      const auto known = std::ranges::find(shares, share, &GroupShare::name);
      if (known == shares.end()) {
        shares.push_back({share, 1});
      } else {
        ++known->hosts;
      }
    };
    for (const int host : hosts) {
      out.hosts.push_back(config().tree.hosts[static_cast<std::size_t>(host)].name);
      count(out.leaves, plan.leaf_name(plan.leaf_of(host)));
      if (plan.by_domain()) count(out.domains, plan.group_name(plan.group_of(host)));
    }
    return out;
  }

  /// The mean of how much faster than now, over all rows.
  static double gain(const std::vector<double>& now, const std::vector<double>& other) {
    double sum = 0;
    for (std::size_t i = 0; i < now.size(); ++i) sum += std::log(now[i] / other[i]);
    return std::exp(sum / static_cast<double>(now.size()));
  }

  void compare(const SeatPlan& plan, const std::vector<int>& now, const std::vector<int>& open) {
    AllocationTimes times(plan, now.size(), parts_.software, for_each_);
    std::vector<std::vector<int>> hosts = {now, sorted_by_group(plan, now)};
    for (std::vector<int>& one : candidate_hosts(plan, now, open)) hosts.push_back(std::move(one));
    std::vector<std::size_t> place;
    for (const std::vector<int>& one : hosts) place.push_back(times.add(one));
    const std::vector<std::vector<double>> found = times.run(result_.rows);
    for (const std::string& warning : times.warnings()) note_once(warning);
    result_.candidates = static_cast<int>(found.size());
    std::vector<double> gains;
    for (const std::size_t at : place) gains.push_back(gain(found[place[0]], found[at]));
    const auto add = [&](const char* name, std::size_t i) {
      if (std::ranges::any_of(result_.allocations,
                              [&](const Allocation& one) { return one.name == name; }))
        return;
      result_.allocations.push_back(described(plan, name, hosts[i]));
      result_.allocations.back().times_us = found[place[i]];
      chosen_.push_back(hosts[i]);
    };
    add("this", 0);
    // NCCL takes hosts of a domain together in any order of ranks; groups of a layout follow ranks.
    const bool mixes = result_.config.step && plan.by_domain() &&
                       group_crossings(plan, now) > group_crossings(plan, hosts[1]);
    if (place[1] != place[0] || mixes)
      add(plan.by_domain() ? "this, by domain" : "this, by leaf", 1);
    const std::size_t best = best_of(gains, hosts, now, mixes ? 1 : 0);
    if (best > 1) add("best", best);
    if (best == 0 && result_.allocations.size() > 1) {  // the last is the best
      result_.allocations.pop_back();
      chosen_.pop_back();
    }
    note_uneven();
    find_swaps(plan, now, hosts[best]);
  }

  /// Nodes of a cluster are equal.
  void note_uneven() {
    for (const Allocation& one : result_.allocations) {
      if (one.domains.empty()) continue;
      const auto [least, most] = std::ranges::minmax(one.domains, {}, &GroupShare::hosts);
      if (least.hosts == most.hosts) continue;
      note_once(fmt::format(
          "{}: its NVLink domains hold unequally many hosts. All are taken to hold {}, as the one "
          "with fewest, whose NICs and NVLinks set the pace.{}",
          one.name, least.hosts,
          config().step ? " The step takes them for equal pieces that share no NVLink: it takes "
                          "that long at most."
                        : ""));
    }
  }

  /// The fastest from `first` on; of those that are equal the first, then the one that keeps most
  /// hosts.
  static std::size_t best_of(const std::vector<double>& gains,
                             const std::vector<std::vector<int>>& hosts,
                             const std::vector<int>& now, std::size_t first) {
    const double most = std::ranges::max(gains);
    const std::set<int> own(now.begin(), now.end());
    std::size_t best = gains.size();
    std::ptrdiff_t kept = -1;
    for (std::size_t i = first; i < gains.size(); ++i) {
      if (gains[i] < most * (1 - kEqual)) continue;
      const auto same =
          std::ranges::count_if(hosts[i], [&](int host) { return own.contains(host); });
      if (same <= kept) continue;
      kept = same;
      best = i;
    }
    return best;
  }

  void find_swaps(const SeatPlan& plan, const std::vector<int>& now, const std::vector<int>& best) {
    std::vector<int> out, in;
    for (const int host : now)
      if (std::ranges::find(best, host) == best.end()) out.push_back(host);
    for (const int host : best)
      if (std::ranges::find(now, host) == now.end()) in.push_back(host);
    const auto name = [&](int host) {
      return config().tree.hosts[static_cast<std::size_t>(host)].name;
    };
    for (std::size_t i = 0; i < out.size(); ++i)
      result_.swaps.push_back({name(out[i]), name(in[i]), plan.group_name(plan.group_of(out[i])),
                               plan.group_name(plan.group_of(in[i]))});
  }

  void add_steps(const SeatPlan& plan) {
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      result_.allocations[i].step =
          placed_step(*config().step, plan, chosen_[i], parts_, for_each_).step.time;
  }

  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  PlacementResult result_;
  std::vector<std::vector<int>> chosen_;  ///< hosts of the allocations
};

}  // namespace

std::vector<int> hosts_by_name(const HostTree& tree, const std::string& tree_file,
                               const std::vector<std::string>& names, const std::string& whose) {
  std::vector<int> out;
  std::set<int> seen;
  for (const std::string& name : names) {
    const int host = tree.find(name);
    if (host < 0) {
      std::vector<std::string> known = tree.names();
      if (known.size() > kNamesHinted) known.resize(kNamesHinted);
      const std::string near = nearest(name, known);
      throw Error(fmt::format("{}: host {} is not in {}", whose, name, tree_file),
                  near.empty()
                      ? fmt::format("it has {}, like {}", counted(std::ssize(tree.hosts), "host"),
                                    tree.hosts.front().name)
                      : fmt::format("did you mean \"{}\"?", near));
    }
    if (!seen.insert(host).second)
      throw Error(fmt::format("{}: host {} twice", whose, name), "each host is named once");
    out.push_back(host);
  }
  return out;
}

std::vector<int> hosts_of_neighbour(const PlacementConfig& config) {
  const Neighbour& other = *config.neighbour;
  return placed(other.hosts_at, [&] {
    return hosts_by_name(config.tree, config.tree_file, other.hosts, "the neighbour");
  });
}

StepResult placed_step(const StepConfig& config, const SeatPlan& plan,
                       const std::vector<int>& hosts, const PartsCatalogue& parts,
                       const ForEach& for_each) {
  if (config.nodes != std::ssize(hosts))
    throw Error(fmt::format("the layout has {}, the allocation {}", counted(config.nodes, "node"),
                            counted(std::ssize(hosts), "host")),
                "`nodes` of the layout and --hosts are one number");
  const bool joins = nodes_of(config, 1).joins_domains;
  const Seating seating = plan.seat({{hosts, joins}}, Uneven::in_pieces);
  StepConfig placed = config;
  placed.placement_costs = false;
  placed.ranks.clear();
  for (const int seat : seating.jobs.front().hosts)
    placed.ranks.push_back({false, seat, seat, 0, -1});
  Site site = HostNodes(config, parts).of(seating.trays);
  const Cluster whole = plan.cluster(seating);
  // Of hosts that NVLink joins one node, else all.
  site.cluster = {whole.node(), plan.by_domain() && joins ? 1 : config.nodes, whole.fabric()};
  return run_step(placed, site, parts, for_each);
}

PlacementResult run_placement(const PlacementConfig& config, const PartsCatalogue& parts,
                              const ForEach& for_each) {
  return Study(config, parts, for_each).run();
}

}  // namespace fabricast
