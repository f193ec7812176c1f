#include <nlohmann/json.hpp>

#include "models/studies/rules_text.hpp"

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

}  // namespace

std::string rules_json(const RulesResult& result) {
  Json rules = Json::array();
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    const RuleOutcome& outcome = result.outcomes[r];
    Json one = {{"id", rule.id},
                {"claim", rule.claim},
                {"source", rule.source},
                {"verdict", to_text(outcome.verdict)}};
    if (rule.expect) one["expected"] = to_text(*rule.expect);
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
  const Json out = {{"kind", "check"},
                    {"file", result.file.file},
                    {"name", result.file.name},
                    {"rules", std::move(rules)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fabricast
