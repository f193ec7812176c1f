#include <algorithm>

#include "models/io/report/columns.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/shared/job_json.hpp"
#include "models/studies/whatif/whatif_text.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

namespace {

/// As the report of the study itself has them: sends and receives take no algorithm, and a
/// protocol.
Json algorithm_of(const ScenarioRow& row) {
  if (row.row != nullptr) return row.row->algorithm();
  return row.algorithm ? Json(to_text(*row.algorithm)) : Json();
}
Json protocol_of(const ScenarioRow& row) {
  if (row.row != nullptr) return row.row->protocol();
  return row.algorithm ? Json(to_text(row.protocol)) : Json();
}

/// A line for each row of each case.
ReportTable rows_table(const ScenarioResult& result) {
  using namespace column;
  ReportTable out(
      "rows", {text("case"), kCollective, kNodes, kRanks, kSize, text("choice"), kAlgorithm,
               kProtocol, kTunedChannels, kTime, kLower, kUpper, kBusbw, flag("completes", "yes")});
  const std::vector<std::vector<ScenarioRow>> rows = result.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const ScenarioRow& row : rows[i]) {
      const std::optional<TimeBand>& band = row.band;
      out.add({result.scenario.cases[i].name, to_text(row.collective), row.nodes, row.ranks,
               row.requested.count, row.choice, algorithm_of(row), protocol_of(row), row.channels,
               row.completes() ? Json(row.time_us) : Json(), band ? Json(band->lower_us) : Json(),
               band ? Json(band->upper_us) : Json(),
               row.completes() ? Json(row.busbw_GBps) : Json(), row.completes()});
    }
  }
  return out;
}

/// A line for each group of each case.
ReportTable groups_table(const ScenarioResult& result) {
  using namespace column;
  ReportTable out("groups",
                  {text("case"), text("group"), kCollective, whole("communicators"), kRanks, kSize,
                   kAlgorithm, kProtocol, kTunedChannels, us("alone_us"), us("together_us"),
                   number("slowdown", {}, ".4f"), number("alone_busbw_GBps", "GB/s", ".4f"),
                   number("together_busbw_GBps", "GB/s", ".4f"), number("nic_share", {}, ".4f")});
  for (std::size_t i = 0; i < result.answers.size(); ++i) {
    const auto& groups = std::get<ConcurrentCase>(result.scenario.cases[i].ask).asked.groups;
    const ConcurrentResult& ran = std::get<ConcurrentAnswer>(result.answers[i]).result;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const ConcurrentGroupResult& one = ran.groups[g];
      const CollectiveRun& run = one.decided.run;
      out.add({result.scenario.cases[i].name, groups[g].name, to_text(run.collective),
               one.communicators, one.ranks, one.size.count,
               is_tuned(run.collective) ? Json(to_text(run.algorithm)) : Json("none"),
               to_text(run.protocol), run.channels, microseconds_of(one.alone),
               microseconds_of(one.together), one.slowdown(), one.busbw_alone, one.busbw_together,
               one.nic_share});
    }
  }
  return out;
}

ReportTable expectations_table(const ScenarioResult& result) {
  using namespace column;
  ReportTable out("expectations", {flag("holds"), text("what")});
  for (const Verdict& one : result.verdicts) out.add({one.holds, one.text});
  return out;
}

ReportTable measured_table(const ScenarioResult& result) {
  using namespace column;
  ReportTable out("measured", {text("what"), text("unit"), number("measured"), number("predicted"),
                               text("source")});
  for (const Comparison& one : result.comparisons)
    out.add({one.what, one.unit, one.measured, one.predicted, one.source});
  return out;
}

void add_notes(const CaseAnswer& answer, Report& out) {
  std::visit(
      [&](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, ConcurrentAnswer>) {
          for (const std::string& note : one.result.notes) add_once(out.notes, note);
        } else {
          for (const std::string& note : one.notes) add_once(out.notes, note);
        }
      },
      answer);
}

/// Cases that are compared are one answer.
Report compared_report(const ScenarioResult& result) {
  const std::vector<ScenarioCase>& cases = result.scenario.cases;
  if (const auto* two = std::get_if<WhatifResult>(&result.compared))
    return whatif_report(*two, cases[0].job(), cases[1].job());
  std::vector<NamedWork> works;
  for (const ScenarioCase& one : cases) works.push_back({one.name, std::get<Work>(one.ask)});
  return whatif_report(std::get<WhatifTable>(result.compared), works);
}

}  // namespace

Report scenario_report(const ScenarioResult& result) {
  const Scenario& scenario = result.scenario;
  Report out;
  if (scenario.study == Study::whatif) {
    out = compared_report(result);
  } else {
    out.study = kStudyWords[scenario.study];
    for (const ScenarioCase& one : scenario.cases)
      out.job["cases"][one.name] = job_json(one.job(), one.nodes(), Json::object())["site"];
    for (const CaseAnswer& one : result.answers) add_notes(one, out);
    out.tables = {scenario.study == Study::concurrent ? groups_table(result) : rows_table(result),
                  expectations_table(result), measured_table(result)};
  }
  out.job["ask"] = {{"name", scenario.name}, {"question", scenario.question}};
  out.facts["holds"] = result.holds();
  return out;
}

}  // namespace fabricast
