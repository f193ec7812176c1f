#include "models/studies/upgrade/upgrade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/io/workloads/load_variables.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/shared/site.hpp"
#include "models/studies/upgrade/upgrade_parts.hpp"
#include "sim/base/add_once.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

/// Both, and between them all whose rules are known, in this direction.
std::vector<NcclVersion> steps_between(NcclVersion from, NcclVersion to) {
  std::vector<NcclVersion> out = {from};
  const auto [low, high] = std::minmax(from, to);
  std::vector<NcclVersion> between;
  for (const NcclVersion one : kModelledVersions) {
    // Releases of one series have the same rules.
    if (low.series < one.series && one.series < high.series) between.push_back(one);
  }
  if (to < from) std::ranges::reverse(between);
  out.insert(out.end(), between.begin(), between.end());
  out.push_back(to);
  return out;
}

/// One number of nodes of a target, as each release settles it.
struct Block {
  int nodes = 1;
  std::vector<std::optional<NcclCommunicator>> by_step;  ///< all there once they are settled

  const NcclCommunicator& at(std::size_t step) const { return *by_step[step]; }
};

/// The communicators of one release on all numbers of nodes. One search serves all of several.
void settle(const Topology& topology, const UpgradeTarget& target, NcclVersion version,
            std::size_t step, std::vector<Block>& blocks) {
  const Job job = target.at(version);
  std::vector<NcclCommunicator> made;
  for (const Block& block : blocks) {
    const DescribedNodes described = topology.describe(nodes_of(job, block.nodes));
    const NcclCommunicatorConfig config = communicator_config(job, described, job.environment);
    const auto known = std::ranges::find_if(made, [&](const NcclCommunicator& one) {
      return one.nodes > 1 && one.hosts / one.nodes == described.trays;
    });
    made.push_back(known == made.end() ? make_nccl_communicator(described.node, config)
                                       : make_nccl_communicator(described.node, config, *known));
  }
  for (std::size_t b = 0; b < made.size(); ++b) blocks[b].by_step[step] = std::move(made[b]);
}

/// What the reader should know of both releases on a target.
void add_notes(const UpgradeTarget& target, const std::vector<Block>& blocks, bool is_one,
               std::vector<std::string>& notes) {
  for (const Block& block : blocks) {
    for (const NcclCommunicator* made : {&block.at(0), &block.at(block.by_step.size() - 1)}) {
      const std::string release = rules_note(made->version);
      for (const std::string& warning : made->warnings) {
        if (warning == release)
          add_once(notes, warning);
        else
          add_once(notes, fmt::format("{}{}: {}", is_one ? "" : target.name + ", ",
                                      to_text(made->version), warning));
      }
    }
  }
}

/// All calls of one collective on one number of nodes, compared.
class Column {
 public:
  Column(const Block& block, std::size_t target, Collective collective,
         const std::vector<Bytes>& sizes, UpgradeSummary& summary)
      : block_(block), target_(target), collective_(collective) {
    const NcclCommunicator& made = block.at(0);
    for (const Bytes size : sizes) {
      const std::int64_t count = element_count(collective, size, kCallElementBytes, made.ranks);
      if (count > 0) add(size, count, summary);
    }
  }

  struct Call {
    Bytes size;
    std::int64_t count = 0;
    std::vector<CallKey> by_step;
    CallDifference difference;
    std::size_t since = 0;  ///< step from which on it runs as at last
  };

  /// Neighbouring calls that change alike, from `first` on; `end` is behind them.
  template <class Found>
  void for_each_stretch(Found&& found) const {
    for (std::size_t i = 0; i < calls_.size();) {
      std::size_t end = i + 1;
      while (end < calls_.size() && is_alike(calls_[i], calls_[end])) ++end;
      if (calls_[i].difference.any()) found(i, end);
      i = end;
    }
  }

  const Block& block() const { return block_; }
  std::size_t target() const { return target_; }
  Collective collective() const { return collective_; }
  const std::vector<Call>& calls() const { return calls_; }

 private:
  void add(Bytes size, std::int64_t count, UpgradeSummary& summary) {
    Call call{size, count, {}, {}, 0};
    for (const auto& made : block_.by_step)
      call.by_step.push_back(call_key(made->model, collective_, count));
    const std::size_t last = call.by_step.size() - 1;
    call.difference = between(call, 0, last);
    call.since = last;
    while (call.since > 0 && !between(call, call.since - 1, last).any()) --call.since;
    ++summary.calls;
    if (call.difference.choice)
      ++summary.choice;
    else if (call.difference.any())
      ++summary.otherwise;
    else if (call.by_step.front().estimate_us != call.by_step.back().estimate_us)
      ++summary.estimate;
    calls_.push_back(std::move(call));
  }

  CallDifference between(const Call& call, std::size_t a, std::size_t b) const {
    const CallKey& one = call.by_step[a];
    const CallKey& other = call.by_step[b];
    bool same_ways = true;
    if (one.algorithm && one.algorithm == other.algorithm)
      same_ways = ways(a, *one.algorithm) == ways(b, *one.algorithm);
    return difference(one, other, same_ways);
  }

  const std::string& ways(std::size_t step, Algorithm algorithm) const {
    std::string& known = ways_[{step, algorithm}];
    if (known.empty()) known = ways_of(block_.at(step).model.input, algorithm);
    return known;
  }

  static bool is_alike(const Call& a, const Call& b) {
    return a.difference == b.difference && a.since == b.since &&
           a.by_step.front().choice() == b.by_step.front().choice() &&
           a.by_step.back().choice() == b.by_step.back().choice();
  }

  const Block& block_;
  std::size_t target_;
  Collective collective_;
  std::vector<Call> calls_;
  mutable std::map<std::pair<std::size_t, Algorithm>, std::string> ways_;
};

/// The call that speaks for a stretch: in its middle, the smaller of two. Above 64 MiB the ratio of
/// two times hardly depends on the size, and simulations take long: the least size then.
std::size_t middle_of(const Column& column, std::size_t first, std::size_t end) {
  constexpr Bytes kLarge{64 << 20};
  std::size_t out = first + (end - first - 1) / 2;
  while (out > first && column.calls()[out].size > kLarge) --out;
  return out;
}

UpgradeStretch stretch_of(const Column& column, std::size_t first, std::size_t end) {
  const Column::Call& middle = column.calls()[middle_of(column, first, end)];
  UpgradeStretch out;
  out.nodes = column.block().nodes;
  out.ranks = column.block().at(0).ranks;
  out.first = column.calls()[first].size;
  out.last = column.calls()[end - 1].size;
  out.calls = static_cast<int>(end - first);
  out.size = middle.size;
  out.before = middle.by_step.front();
  out.after = middle.by_step.back();
  return out;
}

UpgradeChange change_of(const Column& column, const std::vector<NcclVersion>& releases,
                        std::size_t first, std::size_t end) {
  const Column::Call& middle = column.calls()[middle_of(column, first, end)];
  UpgradeChange out;
  out.target = column.target();
  out.collective = column.collective();
  out.before = middle.by_step.front();
  out.after = middle.by_step.back();
  out.difference = middle.difference;
  const Block& block = column.block();
  out.cause = upgrade_cause(block.at(middle.since - 1).model, block.at(middle.since).model,
                            column.collective(), middle.count);
  for (std::size_t i = 1; i < releases.size(); ++i) {
    if (difference(middle.by_step[i - 1], middle.by_step[i], true).any())
      out.steps.emplace_back(releases[i], middle.by_step[i]);
  }
  out.stretches.push_back(stretch_of(column, first, end));
  return out;
}

/// One line of the answer: the same change for the same reason.
bool is_same_change(const UpgradeChange& a, const UpgradeChange& b) {
  return a.target == b.target && a.collective == b.collective && a.difference == b.difference &&
         a.before.choice() == b.before.choice() && a.after.choice() == b.after.choice() &&
         a.cause.since == b.cause.since && a.cause.stage == b.cause.stage;
}

std::vector<UpgradeChange> grouped(std::vector<UpgradeChange> found) {
  std::vector<UpgradeChange> out;
  for (UpgradeChange& one : found) {
    const auto same = std::ranges::find_if(
        out, [&](const UpgradeChange& other) { return is_same_change(one, other); });
    if (same == out.end())
      out.push_back(std::move(one));
    else
      same->stretches.push_back(one.stretches.front());
  }
  return out;
}

double size_of_change(const UpgradeStretch& stretch) {
  return std::abs(std::log1p(stretch.change()));
}

/// The stretch that changes most speaks for all.
void pick_most(UpgradeChange& change) {
  const auto most = std::ranges::max_element(change.stretches, {}, size_of_change);
  change.most = static_cast<std::size_t>(most - change.stretches.begin());
  change.before = most->before;
  change.after = most->after;
}

/// Losses first, the largest at the top; then gains, the largest at the top; then what costs
/// nothing or is not known.
void sort_changes(std::vector<UpgradeChange>& changes) {
  const auto rank = [](const UpgradeChange& c) {
    const double change = c.worst().change();
    const int kind = change > kEqualTimes ? 0 : change < -kEqualTimes ? 1 : 2;
    return std::tuple(c.target, kind, -std::abs(change));
  };
  std::ranges::stable_sort(changes, {}, rank);
}

/// The numbers of nodes that a change is simulated on.
std::vector<int> counts_of(const UpgradeChange& change, bool every) {
  std::vector<int> out;
  for (const UpgradeStretch& stretch : change.stretches) add_once(out, stretch.nodes);
  std::ranges::sort(out);
  if (every || out.size() <= 2) return out;
  return {out.front(), out.back()};
}

void simulate_all(const UpgradeConfig& config, const PartsCatalogue& parts, const ForEach& for_each,
                  std::vector<UpgradeChange>& changes, std::vector<std::string>& notes) {
  std::map<std::pair<std::size_t, int>, std::vector<std::pair<UpgradeStretch*, Collective>>>
      by_site;
  for (UpgradeChange& change : changes) {
    const std::vector<int> counts = counts_of(change, config.every_count);
    for (UpgradeStretch& stretch : change.stretches) {
      if (std::ranges::find(counts, stretch.nodes) != counts.end())
        by_site[{change.target, stretch.nodes}].emplace_back(&stretch, change.collective);
    }
  }
  std::vector<const decltype(by_site)::value_type*> sites;
  for (const auto& one : by_site) sites.push_back(&one);
  // The largest first, so that no core is left with one at the end.
  std::ranges::stable_sort(sites, std::greater{},
                           [](const auto* one) { return one->first.second; });
  std::vector<std::string> problems(sites.size() * 2);
  for_each(sites.size() * 2, [&](std::size_t i) {
    const auto& [where, stretches] = *sites[i / 2];
    const bool is_after = i % 2 == 1;
    const UpgradeTarget& target = config.targets[where.first];
    const Job job = target.at(is_after ? config.to : config.from);
    try {
      const UpgradeSite site(job, where.second, parts);
      for (const auto& [stretch, collective] : stretches)
        (is_after ? stretch->after_us : stretch->before_us) =
            site.time_us(collective, stretch->size);
    } catch (const Error& error) {
      problems[i] = fmt::format("{}: times are not simulated: {}", target.name, error.reason());
    }
  });
  for (const std::string& problem : problems)
    if (!problem.empty()) add_once(notes, problem);
}

void summarise(UpgradeResult& result) {
  for (std::size_t t = 0; t < result.summaries.size(); ++t) {
    double loss = 0, gain = 0;
    for (const UpgradeChange& change : result.changes) {
      if (change.target != t) continue;
      for (const UpgradeStretch& stretch : change.stretches) {
        loss = std::max(loss, stretch.change());
        gain = std::min(gain, stretch.change());
      }
    }
    const bool all_known = result.calls_without_times(t) == 0;
    const auto if_known = [&](double change) {
      return all_known || std::abs(change) > kEqualTimes ? std::optional(change) : std::nullopt;
    };
    result.summaries[t].largest_loss = if_known(loss);
    result.summaries[t].largest_gain = if_known(gain);
  }
}

std::vector<UpgradeVariable> variables_of(const UpgradeConfig& config) {
  using Kind = VariableChange::Kind;
  constexpr auto kWords = enum_words<Kind>("new", "gone", "other default", "read otherwise");
  const VariableCatalogue catalogue = load_variables();
  std::vector<UpgradeVariable> out;
  for (VariableChange& one : variable_changes(catalogue, config.from, config.to)) {
    const std::string& name = one.variable->name;
    const bool is_set = std::ranges::any_of(config.targets, [&](const UpgradeTarget& target) {
      return target.environment.get(name).has_value();
    });
    out.push_back({name, kWords[one.kind], one.since, std::move(one.text), is_set});
  }
  return out;
}

}  // namespace

std::optional<double> UpgradeResult::largest_loss() const {
  double out = 0;
  bool all_known = true;
  for (const UpgradeSummary& one : summaries) {
    out = std::max(out, one.largest_loss.value_or(0));
    all_known = all_known && one.largest_loss;
  }
  return all_known || out > kEqualTimes ? std::optional(out) : std::nullopt;
}

int UpgradeResult::calls_without_times(std::optional<std::size_t> target) const {
  int out = 0;
  for (const UpgradeChange& change : changes) {
    if (target && change.target != *target) continue;
    for (const UpgradeStretch& stretch : change.stretches)
      if (!stretch.has_times()) out += stretch.calls;
  }
  return out;
}

UpgradeResult run_upgrade(const UpgradeConfig& config, const PartsCatalogue& parts,
                          const ForEach& for_each) {
  if (modelled_version(config.from) == modelled_version(config.to))
    throw Error(fmt::format("{} and {} have the same rules: those of {}", to_text(config.from),
                            to_text(config.to), to_text(modelled_version(config.from))),
                "fabricast decide --releases lists whose rules answer");
  UpgradeResult result;
  result.config = config;
  result.releases = steps_between(config.from, config.to);
  result.variables = variables_of(config);
  result.summaries.resize(config.targets.size());
  const std::size_t steps = result.releases.size();

  std::vector<std::vector<Block>> works(config.targets.size());
  std::vector<Topology> topologies;
  for (std::size_t t = 0; t < works.size(); ++t) {
    UpgradeTarget& target = result.config.targets[t];
    topologies.push_back(placed(target.place, [&] { return topology_of(target, parts); }));
    if (target.nodes.empty()) target.nodes = {topologies.back().nodes()};
    for (const int n : target.nodes)
      works[t].push_back({n, std::vector<std::optional<NcclCommunicator>>(steps)});
  }
  for_each(works.size() * steps, [&](std::size_t i) {
    const std::size_t t = i / steps, step = i % steps;
    placed(config.targets[t].place, [&] {
      settle(topologies[t], config.targets[t], result.releases[step], step, works[t]);
    });
  });

  std::vector<std::vector<UpgradeChange>> found(works.size());
  for_each(works.size(), [&](std::size_t t) {
    for (const Block& block : works[t]) {
      for (const Collective collective : config.collectives) {
        const Column column(block, t, collective, config.sizes, result.summaries[t]);
        column.for_each_stretch([&](std::size_t first, std::size_t end) {
          found[t].push_back(change_of(column, result.releases, first, end));
        });
      }
    }
    found[t] = grouped(std::move(found[t]));
  });
  for (std::size_t t = 0; t < works.size(); ++t) {
    add_notes(config.targets[t], works[t], works.size() == 1, result.notes);
    std::ranges::move(found[t], std::back_inserter(result.changes));
  }
  simulate_all(config, parts, for_each, result.changes, result.notes);
  for (UpgradeChange& change : result.changes) pick_most(change);
  sort_changes(result.changes);
  summarise(result);
  if (config.remedies) find_remedies(config, parts, for_each, result.changes);
  return result;
}

}  // namespace fabricast
