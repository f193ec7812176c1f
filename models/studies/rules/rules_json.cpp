#include <nlohmann/json.hpp>

#include "models/studies/rules/rules_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json points_json(const Rule& rule, const RuleOutcome& outcome) {
  Json out = Json::array();
  const std::vector<std::string> names = point_names(rule, outcome);
  std::size_t number = 0;
  for (const CheckOutcome& check : outcome.checks) {
    for (const RulePoint& point : check.points) {
      Json one = {{"where", names[number++]},
                  {"claimed", point.claimed},
                  {"found", point.found},
                  {"holds", point.holds}};
      if (point.figure) one["figure"] = *point.figure;
      out.push_back(std::move(one));
    }
  }
  return out;
}

Json rules_of(const RulesResult& result) {
  Json rules = Json::array();
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    const RuleOutcome& outcome = result.outcomes[r];
    Json one = {{"id", rule.id},
                {"claim", rule.claim},
                {"source", rule.source},
                {"verdict", to_text(outcome.verdict)}};
    one["expected"] = to_text(rule.expected());
    one["as_expected"] = !differs(rule, outcome);
    const RuleSummary summary = summary_of(rule, outcome);
    one["range"] = outcome.range;
    one["why"] = summary.why;
    one["points"] = points_json(rule, outcome);
    Json missing = Json::array();
    for (const CheckOutcome& check : outcome.checks)
      if (!check.not_simulated.empty()) missing.push_back(check.not_simulated);
    one["not_simulated"] = std::move(missing);
    rules.push_back(std::move(one));
  }
  return rules;
}

}  // namespace

std::string rules_json(const std::vector<RulesRun>& runs) {
  const RuleFile& file = runs.front().result.file;
  Json out = {{"kind", "check"}, {"file", file.file}, {"name", file.name}};
  if (runs.size() == 1) {
    if (!runs.front().release.empty()) out["nccl"] = runs.front().release;
    out["rules"] = rules_of(runs.front().result);
    return json_document(out);
  }
  Json releases = Json::array();
  for (const RulesRun& run : runs)
    releases.push_back({{"nccl", run.release}, {"rules", rules_of(run.result)}});
  out["releases"] = std::move(releases);
  return json_document(out);
}

}  // namespace fabricast
