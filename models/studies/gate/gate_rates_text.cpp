#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "models/io/report/columns.hpp"
#include "models/studies/gate/gate_rates.hpp"
#include "models/studies/gate/gate_text.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

struct Rule {
  GateRule rule;
  bool by_share;  ///< a line for each of kSlowShares
  std::string_view name, title;
};
constexpr std::array<Rule, 4> kRules = {
    {{GateRule::all_rows, true, "all_rows", "floors, all rows (one in ten may be slow)"},
     {GateRule::largest_row, true, "largest_row", "floor, largest row"},
     {GateRule::line_rate, false, "line_rate", "80 % of line rate, largest row"},
     {GateRule::aicr, false, "aicr", "AICR's floor, largest row"}}};

constexpr std::size_t kDefaultShare = 2;  ///< of kSlowShares: 95 %

struct Rate {
  int healthy = 0, failed = 0;
  double failed_by_source = 0;  ///< share, each source as much as any other
  int sick = 0, passed = 0;
};

Rate rate_of(const GateRates& rates, GateRule rule, std::size_t share) {
  Rate out;
  std::map<std::string, std::pair<int, int>> by_source;  // runs, failed
  for (const RatedRun& run : rates.runs) {
    const GateOutcome& outcome = run.of(rule);
    if (!outcome.applies) continue;
    const bool pass = outcome.passes[share];
    if (run.is_sick) {
      ++out.sick;
      out.passed += pass ? 1 : 0;
      continue;
    }
    ++out.healthy;
    out.failed += pass ? 0 : 1;
    auto& [runs, failed] = by_source[rates.measured.runs[run.run].source];
    ++runs;
    failed += pass ? 0 : 1;
  }
  for (const auto& [source, counts] : by_source)
    out.failed_by_source +=
        static_cast<double>(counts.second) / counts.first / static_cast<double>(by_source.size());
  return out;
}

template <class Take>
void each_rate(const GateRates& rates, Take take) {
  for (const Rule& rule : kRules)
    for (std::size_t k = 0; k < (rule.by_share ? kSlowShares.size() : 1); ++k)
      take(rule, k, rate_of(rates, rule.rule, k));
}

std::string share_text(int part, int of) {
  return of == 0 ? "-" : fmt::format("{:.1f}", 100.0 * part / of);
}

std::string pass_word(const GateOutcome& outcome, std::size_t share) {
  if (!outcome.applies) return "-";
  return outcome.passes[share] ? "pass" : "fail";
}

/// Runs that were posted as a problem, one by one.
std::string sick_text(const GateRates& rates) {
  TextTable table("  ");
  for (const std::size_t column : {3u, 4u, 5u}) table.align_right(column);
  table.add({"run", "source", "collective", "rows", "slow at 95 %", "busbw GB/s", "all rows",
             "largest row", "line rate", "AICR"});
  bool any = false;
  for (const RatedRun& run : rates.runs) {
    if (!run.is_sick) continue;
    any = true;
    const MeasuredRun& there = rates.measured.runs[run.run];
    table.add({there.id, there.source, std::string(to_text(there.collective)),
               std::to_string(run.rows), std::to_string(run.slow[kDefaultShare]),
               run.largest_busbw_GBps > 0 ? fmt::format("{:.1f}", run.largest_busbw_GBps) : "-",
               pass_word(run.all_rows, kDefaultShare), pass_word(run.largest_row, kDefaultShare),
               pass_word(run.line_rate, 0), pass_word(run.aicr, 0)});
  }
  return any ? "\nRuns posted as a problem, at 95 %:\n" + table.text() : "";
}

}  // namespace

std::string gate_rates_text(const GateRates& rates) {
  const auto sick = std::ranges::count_if(rates.runs, &RatedRun::is_sick);
  std::string out = fmt::format(
      "fabricast validate gate: {} that are taken for healthy, {} posted as a problem\n"
      "each predicted by a fit and held against bands that have not seen its source\n\n",
      counted(std::ssize(rates.runs) - sick, "run"), sick);
  TextTable table("  ");
  table.add({"rule", "share", "healthy", "fail", "%", "% by source", "sick", "pass", "%"});
  for (std::size_t column = 1; column < 9; ++column) table.align_right(column);
  each_rate(rates, [&](const Rule& rule, std::size_t k, const Rate& rate) {
    table.add({std::string(rule.title), rule.by_share ? per_cent(kSlowShares[k]) + " %" : "-",
               std::to_string(rate.healthy), std::to_string(rate.failed),
               share_text(rate.failed, rate.healthy),
               fmt::format("{:.1f}", 100 * rate.failed_by_source), std::to_string(rate.sick),
               std::to_string(rate.passed), share_text(rate.passed, rate.sick)});
  });
  out += table.text() + sick_text(rates);
  for (const std::string& one : rates.left_out) out += "left out: " + one + "\n";
  return out;
}

Report gate_rates_report(const GateRates& rates) {
  using namespace column;
  ReportTable rows("rows", {text("rule"), number("healthy_share"), whole("healthy_runs"),
                            whole("healthy_failed"), number("failed_by_source", {}, ".4f"),
                            whole("sick_runs"), whole("sick_passed")});
  each_rate(rates, [&](const Rule& rule, std::size_t k, const Rate& rate) {
    rows.add({rule.name, rule.by_share ? Json(kSlowShares[k]) : Json(), rate.healthy, rate.failed,
              rate.failed_by_source, rate.sick, rate.passed});
  });
  std::vector<ReportColumn> columns = {
      text("run_id"), text("source"), kCollective,   kNodes,
      kRanks,         flag("sick"),   whole("rows"), number("largest_busbw_GBps", "GB/s", ".4f")};
  constexpr std::array<std::string_view, kSlowShares.size()> kSlowRows = {
      "slow_at_80", "slow_at_90", "slow_at_95", "slow_at_99"};
  for (const std::string_view name : kSlowRows) columns.push_back(whole(name));
  for (const Rule& rule : kRules) columns.push_back(text(rule.name));
  ReportTable runs("runs", std::move(columns));
  for (const RatedRun& run : rates.runs) {
    const MeasuredRun& there = rates.measured.runs[run.run];
    std::vector<Json> cells = {there.id,
                               there.source,
                               to_text(there.collective),
                               there.nodes,
                               there.ranks,
                               run.is_sick,
                               run.rows,
                               run.largest_busbw_GBps > 0 ? Json(run.largest_busbw_GBps) : Json()};
    for (const std::size_t slow : run.slow) cells.emplace_back(slow);
    for (const Rule& rule : kRules)
      cells.emplace_back(pass_word(run.of(rule.rule), rule.by_share ? kDefaultShare : 0));
    runs.add(std::move(cells));
  }
  Report out;
  out.study = "validate gate";
  out.notes = rates.left_out;
  out.tables = {std::move(rows), std::move(runs)};
  return out;
}

}  // namespace fabricast
