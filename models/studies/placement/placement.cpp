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
  AllocationTimes(const SeatPlan& plan, const CommunicatorConfig& wanted, int gpus,
                  std::size_t ranks, const SoftwareCosts& software, const ForEach& for_each)
      : plan_(plan), wanted_(wanted), gpus_(gpus), times_(software, slices_most(ranks), for_each) {}

  std::size_t add(const std::vector<int>& hosts) {
    const std::vector<int> seats = plan_.seats(hosts);
    const auto found = std::ranges::find(placed_, seats, &Placed::seats);
    if (found != placed_.end()) return static_cast<std::size_t>(found - placed_.begin());
    placed_.emplace_back(plan_, wanted_, seats, gpus_);
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
    Placed(const SeatPlan& plan, const CommunicatorConfig& wanted, std::vector<int> where, int gpus)
        : seats(std::move(where)),
          cluster(plan.cluster(seats)),
          job(cluster, wanted, seats, gpus) {}
    std::vector<int> seats;
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
    const CallAt whole{static_cast<int>(one.seats.size()), row.size};
    TimeRecipe out = times_.recipe(whole, [&](const CallAt& at) -> std::optional<std::size_t> {
      if (at.nodes != whole.nodes) return std::nullopt;
      return number(one, row.collective, at.size);
    });
    if (!out.exists())
      throw Error(fmt::format("a call of {} ranks is too large to be simulated", one.job.ranks()),
                  "fewer hosts, or other sizes");
    const CollectiveRun run = one.job.decide(row.collective, row.size).run;
    row.ranks = one.job.ranks();
    row.algorithm = is_tuned(row.collective) ? to_text(run.algorithm) : "none";
    row.protocol = to_text(run.protocol);
    return out;
  }

  const SeatPlan& plan_;
  const CommunicatorConfig& wanted_;
  int gpus_;
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
    const Site site = load_two();
    const SeatPlan plan(config().tree, config().tree_file, site.cluster.node(), fabric_of(site));
    result_.topology = site.cluster.node().name();
    std::vector<int> now = hosts_of_job(), open = open_hosts(now);
    result_.nodes = static_cast<int>(now.size());
    for (const Collective collective : config().collectives)
      for (const Bytes size : config().sizes) result_.rows.push_back({collective, size, 0, {}, {}});
    result_.fabric = plan.cluster(plan.seats(now)).fabric_summary();
    for (const std::string& note : config().tree.notes) note_once(note);
    for (const std::string& note : plan.notes()) note_once(note);
    compare(plan, site.communicator, gpus_of_hosts(config(), site.cluster.node()), now, open);
    if (config().step) add_steps(plan);
    if (std::string text = static_instead(site.cluster); !text.empty()) note_once(text);
    if (site.cluster.fabric().is_default)
      note_once(
          fmt::format("no fabric was named: rails with {} are assumed, a leaf for each that "
                      "the tree has. --fabric says what there is.",
                      config().oversubscription > 1
                          ? fmt::format("{}:1 oversubscription", config().oversubscription)
                          : std::string("no oversubscription")));
    if (config().neighbour)
      result_.neighbour =
          run_neighbour(config(), plan, site.communicator, now, parts_, for_each_, result_.notes);
    return std::move(result_);
  }

 private:
  const PlacementConfig& config() const { return result_.config; }
  void note_once(const std::string& text) { add_once(result_.notes, text); }

  /// The node and the fabric, of any number of nodes.
  Site load_two() const { return load_site(config(), 2, parts_); }

  FabricConfig fabric_of(const Site& site) const {
    FabricConfig out = site.cluster.fabric();
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
    const std::vector<int> taken =
        hosts_by_name(tree, config().tree_file, config().neighbour->hosts, "the neighbour");
    for (const int host : taken)
      if (std::ranges::find(now, host) != now.end())
        throw Error(fmt::format("host {} is in the job and in the neighbour",
                                tree.hosts[static_cast<std::size_t>(host)].name));
    std::erase_if(out, [&](int host) { return std::ranges::find(taken, host) != taken.end(); });
    return out;
  }

  Allocation described(const SeatPlan& plan, std::string name,
                       const std::vector<int>& hosts) const {
    Allocation out{std::move(name), {}, {}, leaf_crossings(plan, hosts), {}, {}};
    for (const int host : hosts) {
      out.hosts.push_back(config().tree.hosts[static_cast<std::size_t>(host)].name);
      const std::string& leaf = plan.leaf_name(plan.leaf_of(host));
      const auto known = std::ranges::find(out.leaves, leaf, &LeafShare::leaf);
      if (known == out.leaves.end()) {
        out.leaves.push_back({leaf, 1});
      } else {
        ++known->hosts;
      }
    }
    return out;
  }

  /// The mean of how much faster than now, over all rows.
  static double gain(const std::vector<double>& now, const std::vector<double>& other) {
    double sum = 0;
    for (std::size_t i = 0; i < now.size(); ++i) sum += std::log(now[i] / other[i]);
    return std::exp(sum / static_cast<double>(now.size()));
  }

  void compare(const SeatPlan& plan, const CommunicatorConfig& wanted, int gpus,
               const std::vector<int>& now, const std::vector<int>& open) {
    AllocationTimes times(plan, wanted, gpus, now.size() * static_cast<std::size_t>(gpus),
                          parts_.software, for_each_);
    std::vector<std::vector<int>> hosts = {now, sorted_by_leaf(plan, now)};
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
    if (place[1] != place[0]) add("this, by leaf", 1);
    const std::size_t best = best_of(gains, hosts, now);
    if (best > 1) add("best", best);
    if (best == 0 && result_.allocations.size() > 1) {  // the last is the best
      result_.allocations.pop_back();
      chosen_.pop_back();
    }
    find_swaps(plan, now, hosts[best]);
  }

  /// The fastest; of those that are equal the first, then the one that keeps most hosts.
  static std::size_t best_of(const std::vector<double>& gains,
                             const std::vector<std::vector<int>>& hosts,
                             const std::vector<int>& now) {
    const double most = std::ranges::max(gains);
    const std::set<int> own(now.begin(), now.end());
    std::size_t best = gains.size();
    std::ptrdiff_t kept = -1;
    for (std::size_t i = 0; i < gains.size(); ++i) {
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
      result_.swaps.push_back({name(out[i]), name(in[i]), plan.leaf_name(plan.leaf_of(out[i])),
                               plan.leaf_name(plan.leaf_of(in[i]))});
  }

  void add_steps(const SeatPlan& plan) {
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      result_.allocations[i].step =
          placed_step(*config().step, plan, plan.seats(chosen_[i]), parts_, for_each_).step.time;
  }

  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  PlacementResult result_;
  std::vector<std::vector<int>> chosen_;  ///< hosts of the allocations
};

}  // namespace

int gpus_of_hosts(const PlacementConfig& config, const NodeGraph& node) {
  const auto all = static_cast<int>(node.gpus().size());
  if (config.gpus_per_node > all)
    throw Error(fmt::format("{} GPUs per node asked for, but {} has {}", config.gpus_per_node,
                            node.name(), all));
  return config.gpus_per_node > 0 ? config.gpus_per_node : all;
}

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

StepResult placed_step(const StepConfig& config, const SeatPlan& plan,
                       const std::vector<int>& seats, const PartsCatalogue& parts,
                       const ForEach& for_each) {
  if (config.nodes != std::ssize(seats))
    throw Error(fmt::format("the layout has {}, the allocation {}", counted(config.nodes, "node"),
                            counted(std::ssize(seats), "host")),
                "`nodes` of the layout and --hosts are one number");
  StepConfig placed = config;
  placed.placement_costs = false;
  placed.ranks.clear();
  for (const int seat : seats) placed.ranks.push_back({false, seat, seat, 0, -1});
  Site site = load_site(placed, parts);
  site.cluster = {plan.node(), site.cluster.nodes(), plan.fabric()};
  return run_step(placed, site, parts, for_each);
}

PlacementResult run_placement(const PlacementConfig& config, const PartsCatalogue& parts,
                              const ForEach& for_each) {
  return Study(config, parts, for_each).run();
}

}  // namespace fabricast
