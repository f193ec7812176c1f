#include "models/studies/advise/worth_trying.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "models/studies/bench/bench_call.hpp"

namespace fabricast {
namespace {

/// That are simulated to time the work once.
std::uint64_t events_of(const WorkRun& run) {
  std::uint64_t out = 0;
  for (const BenchBlock& block : run.bench->blocks)
    for (const BenchRow& row : block.rows) out += row.result.events - row.result.events_skipped;
  return out;
}

/// On half of the nodes, but for one node and two. Nothing: there are no fewer.
std::optional<BenchConfig> on_half(const BenchConfig& config) {
  BenchConfig out = config;
  for (int& nodes : out.nodes)
    if (nodes > 2) nodes = std::max(nodes / 2, 2);
  out.nodes.erase(std::unique(out.nodes.begin(), out.nodes.end()), out.nodes.end());
  return out.nodes == config.nodes ? std::nullopt : std::optional(std::move(out));
}

/// What the move saves alone of all rows that count, or of the one that it helps most.
double worth_alone(const RowTimes& alone, const RowTimes& start, const SearchRules& rules) {
  if (alone.empty()) return -std::numeric_limits<double>::infinity();
  double sum = 0, most = 0;
  for (std::size_t row = 0; row < alone.size(); ++row) {
    if (!rules.counts[row]) continue;
    const double saved = std::log(start[row].us / alone[row].us);
    sum += saved;
    most = std::max(most, saved);
  }
  return std::max(most, sum);
}

bool is_in(const SettingMove& move, const Environment& best) {
  return std::ranges::all_of(move.settings, [&](const auto& setting) {
    return best.get(setting.first) ==
           (setting.second ? std::optional<std::string_view>(*setting.second) : std::nullopt);
  });
}

/// `affordable`: how many environments may be timed on all nodes. Moves are timed alone and in
/// pairs.
std::vector<SettingMove> best_moves(const std::vector<SettingMove>& moves,
                                    const FoundSettings& found, const SearchRules& rules,
                                    std::uint64_t affordable) {
  std::vector<std::size_t> order(moves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return std::pair(is_in(moves[i], found.best),
                     worth_alone(found.alone[i], found.at_start, rules));
  };
  std::ranges::stable_sort(order, std::ranges::greater{}, rank);
  std::size_t kept = kMovesLeast;
  while ((kept + 1) * (kept + 2) / 2 <= affordable) ++kept;
  const auto in_best = std::ranges::count_if(
      moves, [&](const SettingMove& move) { return is_in(move, found.best); });
  order.resize(std::min(order.size(), std::max(kept, static_cast<std::size_t>(in_best))));
  std::ranges::sort(order);
  std::vector<SettingMove> out;
  for (const std::size_t i : order) out.push_back(moves[i]);
  return out;
}

}  // namespace

std::optional<MovesWorthTrying> moves_worth_trying(const AdviseConfig& config,
                                                   const std::vector<SettingMove>& moves,
                                                   const WorkRun& before,
                                                   const PartsCatalogue& parts,
                                                   const ForEach& for_each) {
  if (!config.budget || !before.bench) return std::nullopt;
  // One quarter each: on fewer nodes, on all, for what is said of the best, and to set up what is
  // tried.
  const std::uint64_t quarter = events_within(*config.budget) / 4;
  const auto is_too_much = [&](const WorkRun& run) {
    return events_of(run) * moves.size() * kTimedPerMove / kAskedOfOne > quarter;
  };
  if (!is_too_much(before)) return std::nullopt;
  BenchConfig work = std::get<BenchConfig>(config.work);
  work.one_shot = true;  // a fifth of the events of calls in a row, and as good to tell moves apart
  std::optional<WorkRun> run;
  while (!run || is_too_much(*run)) {
    const std::optional<BenchConfig> fewer = on_half(work);
    if (!fewer) break;
    work = *fewer;
    run = run_work(work, parts, false);
  }
  if (!run) return std::nullopt;
  SearchRules rules;
  rules.counts = rows_that_count(config.goal, *run);
  rules.least = config.least;
  KnownCalls known;
  const auto times = [&](const Environment& environment) {
    RowTimes out = row_times(work, environment, parts, known);
    if (out.size() != run->rows.size()) out.clear();
    return out;
  };
  const FoundSettings found = search_settings(work.environment, moves, times, rules, for_each);
  const std::uint64_t affordable = quarter / std::max<std::uint64_t>(events_of(before), 1);
  return MovesWorthTrying{best_moves(moves, found, rules, affordable),
                          std::ranges::max(work.nodes)};
}

}  // namespace fabricast
