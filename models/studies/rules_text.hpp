#pragma once
// What rules came to, for people and for machines.

#include <string>
#include <vector>

#include "models/studies/rules.hpp"
#include "models/studies/rules_baseline.hpp"

namespace fabricast {

/// Does a verdict differ from what the file expects?
bool differs(const Rule& rule, const RuleOutcome& outcome);

/// One line of claimed and simulated figures for a rule.
struct RuleSummary {
  std::string claimed, found, why;
};
RuleSummary summary_of(const Rule& rule, const RuleOutcome& outcome);

/// A table of a line per rule, and the counts; `details`: every point instead.
std::string rules_text(const RulesResult& result, bool details);
std::string rules_markdown(const RulesResult& result);
/// Also what an earlier run is: parse_baseline().
std::string rules_json(const RulesResult& result);
/// models/io/rules_junit.cpp: a test case per rule, which fails where its verdict differs from what
/// the file expects or, if there is one, from the earlier run.
std::string rules_junit(const RulesResult& result, const std::optional<RulesComparison>& changes);

/// A line for each verdict that differs from what the file expects.
std::string expectations_text(const RulesResult& result);
std::string comparison_text(const RulesComparison& comparison);

}  // namespace fabricast
