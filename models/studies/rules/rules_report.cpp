#include "models/io/report/columns.hpp"
#include "models/studies/rules/rules_text.hpp"

namespace fabricast {

Report rules_report(const std::vector<RulesRun>& runs) {
  using namespace column;
  const RuleFile& file = runs.front().result.file;
  ReportTable rules(
      "rules", {kNccl, text("id"), text("claim"), text("source"), text("verdict"), text("expected"),
                flag("as_expected"), text("range"), text("why"), text("not_simulated")});
  ReportTable points("points", {kNccl, text("id"), text("where"), text("claimed"), text("found"),
                                flag("holds"), number("figure")});
  for (const RulesRun& run : runs) {
    const RulesResult& result = run.result;
    for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
      const Rule& rule = result.file.rules[r];
      const RuleOutcome& outcome = result.outcomes[r];
      const std::vector<std::string> names = point_names(rule, outcome);
      std::string missing;
      std::size_t number = 0;
      for (const CheckOutcome& check : outcome.checks) {
        for (const RulePoint& point : check.points)
          points.add({run.release, rule.id, names[number++], point.claimed, point.found,
                      point.holds, or_null(point.figure)});
        if (!check.not_simulated.empty())
          missing += (missing.empty() ? "" : "; ") + check.not_simulated;
      }
      rules.add({run.release, rule.id, rule.claim, rule.source, to_text(outcome.verdict),
                 to_text(rule.expected()), !differs(rule, outcome), outcome.range,
                 summary_of(rule, outcome).why, missing});
    }
  }
  Report out;
  out.study = "check";
  out.job["ask"] = {{"file", file.file}, {"name", file.name}};
  out.tables = {std::move(rules), std::move(points)};
  return out;
}

}  // namespace fabricast
