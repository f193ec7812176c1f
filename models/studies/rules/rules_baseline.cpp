#include "models/studies/rules/rules_baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/io/formats/text_file.hpp"
#include "models/io/report/page_data.hpp"
#include "models/studies/shared/read_report.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

/// Figures within the tolerance of the earlier one are the same; words must be equal.
bool same(const RulesBaseline::Point& before, const RulePoint& now, double tolerance) {
  if (!before.figure || !now.figure)
    return before.figure.has_value() == now.figure.has_value() && before.found == now.found;
  // A share that stays within a tenth of a per cent, or a figure next to 0, has not changed.
  constexpr double kNothing = 0.1;
  const double by = std::abs(*now.figure - *before.figure);
  return by <= std::max(std::abs(*before.figure) * tolerance, kNothing * tolerance);
}

}  // namespace

RulesBaseline parse_baseline(const std::string& text, const std::string& file) {
  const ReadReport report(text, file, "check", "fabricast check --json");
  RulesBaseline out;
  out.file = file;
  const ReadReport::Table rules = report.table("rules"), points = report.table("points");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto verdict = kRuleVerdictWords.find(rules.text(i, "verdict"));
    if (!verdict ||
        !out.rules.emplace(rules.text(i, "id"), RulesBaseline::Rule{*verdict, {}}).second)
      report.refuse();
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto rule = out.rules.find(points.text(i, "id"));
    if (rule == out.rules.end()) report.refuse();
    rule->second.points.emplace(
        points.text(i, "where"),
        RulesBaseline::Point{points.text(i, "found"), finite_number(points.text(i, "figure"))});
  }
  return out;
}

RulesBaseline load_baseline(const std::string& file) {
  return parse_baseline(
      report_in(read_text_file(file, "--baseline takes what --json wrote"), file, "check"), file);
}

std::vector<std::string> point_names(const Rule& rule, const RuleOutcome& outcome) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (std::size_t c = 0; c < outcome.checks.size(); ++c) {
    for (const RulePoint& point : outcome.checks[c].points) {
      std::string name = rule.checks[c].label;
      for (const std::string& part : {point.group, point.at})
        if (!part.empty()) name += (name.empty() ? "" : ", ") + part;
      if (name.empty()) name = kAskWords[rule.checks[c].ask];
      std::string numbered = name;
      for (int i = 2; !taken.insert(numbered).second; ++i)
        numbered = fmt::format("{} ({})", name, i);
      out.push_back(std::move(numbered));
    }
  }
  return out;
}

RulesComparison compare_rules(const RulesResult& result, const RulesBaseline& baseline,
                              double tolerance) {
  RulesComparison out;
  out.baseline = baseline.file;
  out.tolerance = tolerance;
  std::set<std::string> here;
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    const RuleOutcome& outcome = result.outcomes[r];
    here.insert(rule.id);
    const auto known = baseline.rules.find(rule.id);
    if (known == baseline.rules.end()) {
      out.only_here.push_back(rule.id);
      continue;
    }
    const RulesBaseline::Rule& before = known->second;
    if (before.verdict != outcome.verdict)
      out.verdicts.push_back({rule.id,
                              {},
                              std::string(to_text(before.verdict)),
                              std::string(to_text(outcome.verdict))});
    const std::vector<std::string> names = point_names(rule, outcome);
    std::set<std::string> met;
    std::size_t number = 0;
    for (const CheckOutcome& check : outcome.checks) {
      for (const RulePoint& point : check.points) {
        const std::string& name = names[number++];
        met.insert(name);
        const auto there = before.points.find(name);
        if (there == before.points.end()) {
          out.figures.push_back({rule.id, name, "not there", point.found});
        } else if (!same(there->second, point, tolerance)) {
          out.figures.push_back({rule.id, name, there->second.found, point.found});
        }
      }
    }
    for (const auto& [name, point] : before.points)
      if (!met.contains(name)) out.figures.push_back({rule.id, name, point.found, "not there"});
  }
  for (const auto& [id, rule] : baseline.rules)
    if (!here.contains(id)) out.only_there.push_back(id);
  return out;
}

}  // namespace fabricast
