// Verdicts of rules as JUnit XML, which CI systems show.
#include <fmt/format.h>

#include "models/io/report/junit.hpp"
#include "models/studies/rules/rules_text.hpp"

namespace fabricast {

namespace {

/// What stands against this rule; "" = nothing.
std::string complaint(const Rule& rule, const RuleOutcome& outcome,
                      const std::optional<RulesComparison>& changes) {
  if (!changes)
    return differs(rule, outcome)
               ? fmt::format("{} instead of {}, which {}", to_text(outcome.verdict),
                             to_text(rule.expected()),
                             rule.expect ? "the file expects" : "a rule without expect is")
               : "";
  for (const RuleChange& change : changes->verdicts)
    if (change.rule == rule.id)
      return fmt::format("{} instead of {}, as in {}", change.after, change.before,
                         changes->baseline);
  return "";
}

/// A line for each point that speaks against what was expected.
std::string telling_points(const Rule& rule, const RuleOutcome& outcome) {
  const bool holding = rule.expected() == RuleVerdict::contradicted;
  const std::vector<std::string> names = point_names(rule, outcome);
  std::string out;
  std::size_t number = 0;
  for (const CheckOutcome& check : outcome.checks) {
    for (const RulePoint& point : check.points) {
      const std::string& name = names[number++];
      if (point.holds == holding)
        out += fmt::format("{}: claimed {}, simulated {}\n", name, point.claimed, point.found);
    }
  }
  return out;
}

JunitCase case_of(const Rule& rule, const RuleOutcome& outcome,
                  const std::optional<RulesComparison>& changes) {
  const RuleSummary summary = summary_of(rule, outcome);
  JunitCase out{{}, rule.id + ": " + rule.claim};
  if (const std::string against = complaint(rule, outcome, changes); !against.empty()) {
    out.failure = against;
    out.details = telling_points(rule, outcome);
  } else if (outcome.verdict == RuleVerdict::not_simulated) {
    out.skipped = summary.why;
  }
  out.said = fmt::format("{}: claimed {}, simulated {}. {}", to_text(outcome.verdict),
                         summary.claimed, summary.found, summary.why);
  return out;
}

}  // namespace

std::string rules_junit(const std::vector<RulesRun>& runs,
                        const std::optional<RulesComparison>& changes) {
  std::vector<JunitSuite> suites;
  for (const RulesRun& run : runs) {
    JunitSuite& suite = suites.emplace_back();
    suite.name = run.result.file.name + (run.release.empty() ? "" : ", NCCL " + run.release);
    for (std::size_t r = 0; r < run.result.outcomes.size(); ++r) {
      JunitCase one = case_of(run.result.file.rules[r], run.result.outcomes[r], changes);
      one.class_name = suite.name;
      if (r < run.seconds.size()) one.seconds = run.seconds[r];
      suite.cases.push_back(std::move(one));
    }
  }
  return junit_xml(suites);
}

}  // namespace fabricast
