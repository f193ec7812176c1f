#pragma once
// What rules came to, for people and for machines.

#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/rules/rules.hpp"
#include "models/studies/rules/rules_baseline.hpp"

namespace fabricast {

/// Does a verdict differ from what the file expects? A rule is expected to hold. Without `expect`
/// one that could not be simulated is left out, not failed.
bool differs(const Rule& rule, const RuleOutcome& outcome);

/// One line of claimed and simulated figures for a rule.
struct RuleSummary {
  std::string claimed, found, why;
};
RuleSummary summary_of(const Rule& rule, const RuleOutcome& outcome);

/// The rules with one release of NCCL.
struct RulesRun {
  std::string release;  ///< in place of the file's; "" = the file's
  RulesResult result;
  std::vector<double> seconds;  ///< that each rule took; may be empty
};

/// A table of a line per rule, and the counts; `details`: every point instead.
std::string rules_text(const RulesResult& result, bool details);
/// A section for each run.
std::string rules_markdown(const std::vector<RulesRun>& runs);
/// Tables: rules, points. Of one run its JSON is also what parse_baseline() reads.
Report rules_report(const std::vector<RulesRun>& runs);
/// models/studies/rules/rules_junit.cpp: a test case per rule, which fails where its verdict
/// differs from what the file expects or, if there is one, from the earlier run; with the points
/// that tell. Several runs are several suites.
std::string rules_junit(const std::vector<RulesRun>& runs,
                        const std::optional<RulesComparison>& changes);

/// A line for each verdict that differs from what the file expects; one where all rules are
/// skipped.
std::string expectations_text(const RulesResult& result);
std::string comparison_text(const RulesComparison& comparison);

}  // namespace fabricast
