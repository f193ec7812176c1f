#include "models/studies/cutover/tuner_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "models/studies/bench/bench_call.hpp"
#include "models/studies/cutover/cutover.hpp"
#include "models/studies/shared/call_times.hpp"
#include "models/studies/shared/site.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr double kTreeBetweenNodes = 1.8;
/// Sizes looked at: every power of two between these.
constexpr int kSmallest = 3, kLargest = 32;

/// Simulated of a call at most, with a budget and without.
constexpr std::uint64_t kSomeSlices = 250'000, kAnySlices = UINT64_MAX;

/// A collective on a number of nodes.
class Column {
 public:
  Column(const Site& site, const Communicator& communicator, Collective collective,
         CallTimes& times)
      : cluster_(site.cluster),
        communicator_(communicator),
        collective_(collective),
        times_(times) {
    for (int power = kSmallest; power <= kLargest; ++power) add(Bytes{std::int64_t{1} << power});
  }

  std::size_t sizes() const { return rows_.size(); }

  /// The calls whose times are needed first: NCCL's own.
  void list_own(std::vector<CallTimes::Asked>& out) {
    for (Row& row : rows_)
      for (std::size_t i = 0; i < row.recipes.size(); ++i)
        if (is_own(row.own.candidates[i], row.pick)) ask(row, i, out);
  }

  /// Of a size, by the times of what was listed before, what could be faster than NCCL's own: no
  /// choice takes less than it does for a smaller message.
  void list(std::size_t size, const std::vector<TimeRecipe>& before,
            std::vector<CallTimes::Asked>& out) {
    Row& row = rows_[size];
    const std::optional<double> own_us = own_time(row, before);
    for (std::size_t i = 0; own_us && i < row.recipes.size(); ++i) {
      const Candidate& one = row.own.candidates[i];
      if (row.recipes[i] || !one.excluded.empty()) continue;
      if (time_below(size, one, before) * doubt_of(one.algorithm, row.pick.nodes) < *own_us)
        ask(row, i, out);
    }
  }

  /// By the times of all. Where NCCL's own call is too large to have one, it stays.
  std::vector<TunerPick> picks(const std::vector<TimeRecipe>& recipes) const {
    std::vector<TunerPick> out;
    for (const Row& row : rows_) {
      Timed timed;
      for (std::size_t i = 0; i < row.recipes.size(); ++i) {
        if (!row.recipes[i] || !recipes[*row.recipes[i]].exists()) continue;
        timed.emplace_back(&row.own.candidates[i], times_.time_us(recipes[*row.recipes[i]]));
      }
      out.push_back(pick(row, timed));
    }
    return out;
  }

 private:
  struct Row {
    TunerPick pick;  ///< NCCL's own
    TunerDecision own;
    std::int64_t count = 0;
    std::vector<std::optional<std::size_t>> recipes;  ///< by candidate: the number of what is asked
  };

  void ask(Row& row, std::size_t candidate, std::vector<CallTimes::Asked>& out) {
    const Candidate& one = row.own.candidates[candidate];
    number(one, row.count);
    row.recipes[candidate] = out.size();
    out.push_back({{row.pick.nodes, row.pick.size},
                   [this, one](const CallAt& at) { return number_at(one, at); }});
  }

  std::optional<double> own_time(const Row& row, const std::vector<TimeRecipe>& recipes) const {
    for (std::size_t i = 0; i < row.recipes.size(); ++i)
      if (is_own(row.own.candidates[i], row.pick) && recipes[*row.recipes[i]].exists())
        return times_.time_us(recipes[*row.recipes[i]]);
    return std::nullopt;
  }
  /// What the choice takes for the largest of the smaller sizes that it has a time for; 0 of none.
  double time_below(std::size_t size, const Candidate& one,
                    const std::vector<TimeRecipe>& recipes) const {
    while (size-- > 0) {
      const Row& row = rows_[size];
      for (std::size_t i = 0; i < row.recipes.size(); ++i)
        if (is_pair(row.own.candidates[i], one.algorithm, one.protocol) && row.recipes[i] &&
            recipes[*row.recipes[i]].exists())
          return times_.time_us(recipes[*row.recipes[i]]);
    }
    return 0;
  }
  using Timed = std::vector<std::pair<const Candidate*, double>>;

  /// Nothing where the size rounds down to no element.
  void add(Bytes asked) {
    Row row;
    row.count = element_count(collective_, asked, kFloatBytes, communicator_.ranks);
    if (row.count == 0) return;
    TunerPick& pick = row.pick;
    pick.collective = collective_;
    pick.nodes = communicator_.nodes;
    pick.ranks = communicator_.ranks;
    pick.size = message_size(collective_, row.count, kFloatBytes, communicator_.ranks);
    row.own = decide(communicator_.model, collective_, pick.size, kFloatBytes);
    if (!row.own.algorithm) return;
    pick.algorithm = pick.own_algorithm = *row.own.algorithm;
    pick.protocol = pick.own_protocol = row.own.protocol;
    pick.channels = row.own.channels;
    row.recipes.resize(row.own.candidates.size());
    rows_.push_back(std::move(row));
  }

  TunerPick pick(const Row& row, const Timed& timed) const {
    TunerPick out = row.pick;
    for (const auto& [one, time] : timed)
      if (is_own(*one, out)) out.time_us = out.own_us = time;
    double least = out.own_us;
    for (const auto& [one, time] : timed) {
      if (!one->excluded.empty() || is_own(*one, row.pick)) continue;
      const double doubted = time * doubt_of(one->algorithm, out.nodes);
      if (doubted >= least) continue;
      least = doubted;
      TunerDecision taken = row.own;
      take(communicator_.model, *one, out.size, taken);
      out.algorithm = one->algorithm;
      out.protocol = one->protocol;
      out.channels = taken.channels;
      out.time_us = time;
    }
    return out;
  }

  static bool is_pair(const Candidate& one, Algorithm algorithm, Protocol protocol) {
    return one.algorithm == algorithm && one.protocol == protocol;
  }
  static bool is_own(const Candidate& one, const TunerPick& pick) {
    return is_pair(one, pick.own_algorithm, pick.own_protocol);
  }

  /// Over sizes only: other numbers of nodes have columns of their own.
  std::optional<std::size_t> number_at(const Candidate& like, const CallAt& at) {
    if (at.nodes != communicator_.nodes) return std::nullopt;
    const std::int64_t count =
        element_count(collective_, at.size, kFloatBytes, communicator_.ranks);
    if (count == 0) return std::nullopt;
    if (const auto known = number_of(like, count)) return known;
    const TunerDecision there =
        decide(communicator_.model, collective_,
               message_size(collective_, count, kFloatBytes, communicator_.ranks), kFloatBytes);
    for (const Candidate& one : there.candidates)
      if (is_pair(one, like.algorithm, like.protocol) && one.excluded.empty())
        return number(one, count);
    return std::nullopt;
  }

  std::size_t number(const Candidate& candidate, std::int64_t count) {
    const auto [at, is_new] =
        numbers_.try_emplace({candidate.algorithm, candidate.protocol, count});
    if (is_new)
      at->second = times_.add(
          cluster_, decided_as(communicator_, {collective_, count, kFloatBytes, 0}, candidate).run);
    return at->second;
  }
  std::optional<std::size_t> number_of(const Candidate& candidate, std::int64_t count) const {
    const auto at = numbers_.find({candidate.algorithm, candidate.protocol, count});
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

  const Cluster& cluster_;
  const Communicator& communicator_;
  Collective collective_;
  CallTimes& times_;
  std::vector<Row> rows_;
  std::map<std::tuple<Algorithm, Protocol, std::int64_t>, std::size_t> numbers_;
};

bool same_choice(const TunerPick& a, const TunerPick& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// Ranges that touch, from 0 to the largest number. Between two picks a choice gives way in the
/// middle of their logarithms.
void add_rules(const std::vector<TunerPick>& picks, std::vector<TunerRule>& rules) {
  std::int64_t from = 0;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const TunerPick& pick = picks[i];
    const bool last = i + 1 == picks.size();
    if (!last && same_choice(pick, picks[i + 1])) continue;
    TunerRule rule{pick.collective, from,          kAnyTunerSize, pick.algorithm,
                   pick.protocol,   pick.channels, pick.nodes,    pick.ranks};
    if (!last)
      rule.bytes_max = std::llround(std::sqrt(static_cast<double>(pick.size.count) *
                                              static_cast<double>(picks[i + 1].size.count)));
    from = last ? 0 : rule.bytes_max + 1;
    rules.push_back(rule);
  }
}

}  // namespace

double doubt_of(Algorithm algorithm, int nodes) {
  return algorithm == Algorithm::tree && nodes > 1 ? kTreeBetweenNodes : 1 + kNear;
}

bool TunerPlan::changes_something() const {
  return std::ranges::any_of(picks, [](const TunerPick& pick) { return !pick.is_own(); });
}

TunerPlan plan_tuner(const BenchConfig& config, const PartsCatalogue& parts,
                     const ForEach& for_each) {
  if (config.version < kOwnTunerSince)
    throw Error(fmt::format("no tuner plugin for NCCL {} reads a file", to_text(config.version)),
                "those for 2.21 and later do: --nccl 2.27.7");
  TunerPlan out;
  out.version = config.version;
  std::vector<int> nodes = config.nodes;
  if (nodes.empty()) nodes = {0};
  const Topology topology = topology_of(config, parts);
  struct Ground {
    Site site;
    Communicator communicator;
  };
  std::deque<Ground> grounds;
  CallTimes times(parts.software, config.budget ? kSomeSlices : kAnySlices, for_each);
  std::deque<Column> columns;
  for (const int n : nodes) {
    Site site = site_of(topology, config, nodes_of(config, n));
    Communicator communicator = site.make();
    const Ground& ground = grounds.emplace_back(Ground{std::move(site), std::move(communicator)});
    for (const Collective collective : config.collectives)
      if (is_tuned(collective))
        columns.emplace_back(ground.site, ground.communicator, collective, times);
  }
  const auto budget = config.budget ? std::optional(events_within(*config.budget)) : std::nullopt;
  std::vector<CallTimes::Asked> asked;
  std::vector<TimeRecipe> recipes;
  // Those that were asked for since, and appends how.
  const auto simulate = [&] {
    times.look_at_all();
    const std::vector<TimeRecipe> made =
        times.recipes(std::span(asked).subspan(recipes.size()), budget);
    std::vector<const TimeRecipe*> all;
    for (const TimeRecipe& one : made) all.push_back(&one);
    times.simulate(all);
    recipes.insert(recipes.end(), made.begin(), made.end());
  };
  std::size_t sizes = 0;
  for (Column& column : columns) {
    column.list_own(asked);
    sizes = std::max(sizes, column.sizes());
  }
  simulate();
  for (std::size_t size = 0; size < sizes; ++size) {
    for (Column& column : columns)
      if (size < column.sizes()) column.list(size, recipes, asked);
    simulate();
  }
  for (const Column& column : columns) {
    const std::vector<TunerPick> picks = column.picks(recipes);
    add_rules(picks, out.rules);
    out.picks.insert(out.picks.end(), picks.begin(), picks.end());
  }
  return out;
}

std::string tuner_file(const TunerPlan& plan) {
  std::string out =
      "# For the tuner plugin of Fabricast (plugins/tuner), NCCL 2.21 and later, which leaves "
      "other\n"
      "# calls alone:\n"
      "#   export NCCL_TUNER_PLUGIN=libnccl-tuner-fabricast.so NCCL_TUNER_CONFIG_FILE=<this "
      "file>\n";
  if (plan.version >= kTunerFileSince)
    out +=
        "# Or for NCCL's example plugin, libnccl-tuner-example.so, NCCL 2.27.5 and later. Calls "
        "that no\n"
        "# line speaks of run on a single channel while that is loaded: load it for jobs of these\n"
        "# numbers of nodes and ranks and these collectives only.\n";
  for (const TunerPick& pick : plan.picks) {
    if (pick.is_own()) continue;
    out += fmt::format("# {} {}: {} {} {:.1f} us, NCCL's own {} {} {:.1f} us\n",
                       to_text(pick.collective), to_text(pick.size), to_text(pick.algorithm),
                       to_text(pick.protocol), pick.time_us, to_text(pick.own_algorithm),
                       to_text(pick.own_protocol), pick.own_us);
  }
  out +=
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  for (const TunerRule& rule : plan.rules) out += tuner_csv_line(rule) + "\n";
  return out;
}

}  // namespace fabricast
