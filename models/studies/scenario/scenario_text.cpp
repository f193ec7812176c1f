#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "models/studies/bench/bench_text.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/whatif/whatif_text.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// Every line behind '#'.
std::string commented(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    out += line.empty() ? "#\n" : fmt::format("# {}\n", line);
  return out;
}

/// One line per row of every case.
std::string summary_text(const ScenarioResult& result) {
  TextTable table;
  for (const std::size_t column : {1u, 2u, 3u, 6u, 7u, 8u, 9u, 10u}) table.align_right(column);
  table.add({"case", "nodes", "ranks", "size", "collective", "choice", "channels", "time_us",
             "lower_us", "upper_us", "busbw_GBps"});
  bool has_bands = false;
  const std::vector<std::vector<ScenarioRow>> rows = result.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const ScenarioRow& row : rows[i]) {
      const auto figure = [&](double value) {
        return row.completes() ? fmt::format("{:.2f}", value) : std::string("N/A");
      };
      table.add({result.scenario.cases[i].name, std::to_string(row.nodes),
                 std::to_string(row.ranks), to_text(row.requested),
                 std::string(to_text(row.collective)), row.choice, std::to_string(row.channels),
                 figure(row.time_us), row.band ? figure(row.band->lower_us) : "-",
                 row.band ? figure(row.band->upper_us) : "-", figure(row.busbw_GBps)});
      has_bands = has_bands || row.band;
    }
  }
  std::string out = table.text();
  if (has_bands) out += "lower_us, upper_us: 80 % of measured times lie between them.\n";
  if (!result.completes()) out += "completes: no. A row without a time never ends.\n";
  std::set<std::string> said;
  for (const CaseAnswer& one : result.answers) {
    const auto* const simulated = std::get_if<BenchResult>(&one);
    if (simulated == nullptr) continue;
    for (const std::string& note : simulated->notes) {
      if (said.insert(note).second) out += fmt::format("note: {}\n", note);
    }
  }
  return out;
}

/// What changes by less than this has no direction.
constexpr double kNoChange = 0.1;

/// Whether our ratio goes the way of the measured one.
std::string direction(const Comparison& one) {
  if (!one.is_ratio || std::abs(one.measured - 1) <= kNoChange) return "";
  return (one.measured > 1) == (one.predicted > 1) ? "same direction" : "OTHER DIRECTION";
}

std::string comparisons_text(const std::vector<Comparison>& comparisons) {
  TextTable table;
  for (const std::size_t column : {1u, 2u, 3u}) table.align_right(column);
  table.add({"measured beside predicted", "measured", "predicted", "off by", "", "source"});
  for (const Comparison& one : comparisons) {
    const std::string unit = one.unit.empty() ? "" : " " + one.unit;
    table.add({one.what, fmt::format("{:.4g}{}", one.measured, unit),
               fmt::format("{:.4g}{}", one.predicted, unit),
               fmt::format("{:+.1f} %", 100 * (one.predicted / one.measured - 1)), direction(one),
               one.source});
  }
  return table.text();
}

/// The page of one case.
struct Page {
  const ScenarioCase& asked;
  const BandTable& bands;

  std::string operator()(const BenchResult& result) const { return bench_text(result, bands); }
  std::string operator()(const DecideResult& result) const { return decide_text(result); }
  std::string operator()(const ConcurrentAnswer& answer) const {
    return concurrent_text(answer.cluster, std::get<ConcurrentCase>(asked.ask).asked,
                           answer.result);
  }
};

}  // namespace

std::string scenario_text(const ScenarioResult& result) {
  const Scenario& scenario = result.scenario;
  std::string out = commented(scenario.question);
  if (const auto* two = std::get_if<WhatifResult>(&result.compared)) {
    out += "#\n" + whatif_text(*two);
  } else if (const auto* several = std::get_if<WhatifTable>(&result.compared)) {
    out += "#\n" + whatif_text(*several);
  } else if (scenario.summary) {
    out += "#\n" + summary_text(result);
  } else {
    for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
      if (scenario.cases.size() > 1) out += fmt::format("#\n# == {} ==\n", scenario.cases[i].name);
      out += std::visit(Page{scenario.cases[i], result.bands}, result.answers[i]);
    }
  }
  if (!result.comparisons.empty()) out += "#\n" + commented(comparisons_text(result.comparisons));
  if (!result.verdicts.empty()) out += "#\n# Expectations:\n";
  for (const Verdict& verdict : result.verdicts)
    out += fmt::format("# {}  {}\n", verdict.holds ? "ok    " : "FAILED", verdict.text);
  return out;
}

}  // namespace fabricast
