// Verdicts of rules as JUnit XML, which CI systems show.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "models/studies/rules_text.hpp"

namespace fabricast {

namespace {

/// What stands against this rule; "" = nothing.
std::string complaint(const Rule& rule, const RuleOutcome& outcome,
                      const std::optional<RulesComparison>& changes) {
  if (!changes)
    return differs(rule, outcome) ? fmt::format("{} instead of {}, which the file expects",
                                                to_text(outcome.verdict), to_text(*rule.expect))
                                  : "";
  for (const RuleChange& change : changes->verdicts)
    if (change.rule == rule.id)
      return fmt::format("{} instead of {}, as in {}", change.after, change.before,
                         changes->baseline);
  return "";
}

/// XML 1.0 has no control characters.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = ' ';
  return text;
}

}  // namespace

std::string rules_junit(const RulesResult& result, const std::optional<RulesComparison>& changes) {
  pugi::xml_document document;
  pugi::xml_node suite = document.append_child("testsuite");
  suite.append_attribute("name").set_value(printable(result.file.name).c_str());
  suite.append_attribute("tests").set_value(static_cast<unsigned>(result.outcomes.size()));
  pugi::xml_attribute failures = suite.append_attribute("failures");
  pugi::xml_attribute skipped = suite.append_attribute("skipped");
  unsigned failed = 0, left_out = 0;
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    const RuleOutcome& outcome = result.outcomes[r];
    pugi::xml_node one = suite.append_child("testcase");
    one.append_attribute("classname").set_value(printable(result.file.name).c_str());
    one.append_attribute("name").set_value(printable(rule.id + ": " + rule.claim).c_str());
    const RuleSummary summary = summary_of(rule, outcome);
    if (const std::string against = complaint(rule, outcome, changes); !against.empty()) {
      ++failed;
      one.append_child("failure").append_attribute("message").set_value(printable(against).c_str());
    } else if (outcome.verdict == RuleVerdict::not_simulated) {
      ++left_out;
      one.append_child("skipped").append_attribute("message").set_value(
          printable(summary.why).c_str());
    }
    const std::string said =
        fmt::format("{}: claimed {}, simulated {}. {}", to_text(outcome.verdict), summary.claimed,
                    summary.found, summary.why);
    one.append_child("system-out").text().set(printable(said).c_str());
  }
  failures.set_value(failed);
  skipped.set_value(left_out);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fabricast
