// Verdicts of rules as JUnit XML, which CI systems show.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "models/studies/rules/rules_text.hpp"
#include "text/quoting.hpp"

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

/// XML 1.0 has no control characters.
std::string printable(const std::string& text) { return terminal_text(text); }

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(printable(value).c_str());
}

struct Counts {
  unsigned tests = 0, failures = 0, skipped = 0;
  double seconds = 0;

  void add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    skipped += other.skipped;
    seconds += other.seconds;
  }
  void write(pugi::xml_node node) const {
    set(node, "tests", std::to_string(tests));
    set(node, "failures", std::to_string(failures));
    set(node, "skipped", std::to_string(skipped));
    set(node, "time", fmt::format("{:.3f}", seconds));
  }
};

void add_case(pugi::xml_node suite, const std::string& suite_name, const Rule& rule,
              const RuleOutcome& outcome, const std::optional<RulesComparison>& changes,
              Counts& counts) {
  pugi::xml_node one = suite.append_child("testcase");
  set(one, "classname", suite_name);
  set(one, "name", rule.id + ": " + rule.claim);
  set(one, "time", fmt::format("{:.3f}", counts.seconds));
  counts.tests = 1;
  const RuleSummary summary = summary_of(rule, outcome);
  if (const std::string against = complaint(rule, outcome, changes); !against.empty()) {
    counts.failures = 1;
    pugi::xml_node failure = one.append_child("failure");
    set(failure, "message", against);
    failure.text().set(printable(telling_points(rule, outcome)).c_str());
  } else if (outcome.verdict == RuleVerdict::not_simulated) {
    counts.skipped = 1;
    set(one.append_child("skipped"), "message", summary.why);
  }
  const std::string said = fmt::format("{}: claimed {}, simulated {}. {}", to_text(outcome.verdict),
                                       summary.claimed, summary.found, summary.why);
  one.append_child("system-out").text().set(printable(said).c_str());
}

Counts add_suite(pugi::xml_node suite, const RulesRun& run,
                 const std::optional<RulesComparison>& changes) {
  const std::string name =
      run.result.file.name + (run.release.empty() ? "" : ", NCCL " + run.release);
  set(suite, "name", name);
  Counts all;
  for (std::size_t r = 0; r < run.result.outcomes.size(); ++r) {
    Counts one;
    if (r < run.seconds.size()) one.seconds = run.seconds[r];
    add_case(suite, name, run.result.file.rules[r], run.result.outcomes[r], changes, one);
    all.add(one);
  }
  all.write(suite);
  return all;
}

}  // namespace

std::string rules_junit(const std::vector<RulesRun>& runs,
                        const std::optional<RulesComparison>& changes) {
  pugi::xml_document document;
  if (runs.size() == 1) {
    add_suite(document.append_child("testsuite"), runs.front(), changes);
  } else {
    pugi::xml_node suites = document.append_child("testsuites");
    Counts all;
    for (const RulesRun& run : runs)
      all.add(add_suite(suites.append_child("testsuite"), run, changes));
    all.write(suites);
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fabricast
