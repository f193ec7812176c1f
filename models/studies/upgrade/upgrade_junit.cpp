// What an upgrade costs as JUnit XML, which CI systems show.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "models/studies/upgrade/upgrade_text.hpp"
#include "text/quoting.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

std::string upgrade_junit(const UpgradeResult& result, std::optional<double> fail_over) {
  const UpgradeConfig& config = result.config;
  pugi::xml_document document;
  pugi::xml_node suite = document.append_child("testsuite");
  const auto set = [](pugi::xml_node node, const char* name, const std::string& value) {
    node.append_attribute(name).set_value(terminal_text(value).c_str());
  };
  unsigned tests = 0, failures = 0;
  for (std::size_t t = 0; t < config.targets.size(); ++t) {
    for (const Collective collective : config.collectives) {
      pugi::xml_node test = suite.append_child("testcase");
      ++tests;
      set(test, "classname", config.targets[t].name);
      set(test, "name", std::string(to_text(collective)));
      std::string lines;
      for (const UpgradeChange& change : result.changes) {
        if (change.target != t || change.collective != collective) continue;
        for (const UpgradeStretch& one : change.stretches) {
          if (!fail_over || (one.has_times() && one.change() <= *fail_over)) continue;
          const std::string change_text =
              one.has_times() ? fmt::format("{:+.1f} %", one.change() * 100) : "not known";
          lines += fmt::format("{}: {} on {} nodes, {} instead of {}; since {}: {}\n", change_text,
                               to_text(one.size), one.nodes, one.after.choice(),
                               one.before.choice(), to_text(change.cause.since), change.cause.text);
        }
      }
      if (lines.empty()) continue;
      ++failures;
      pugi::xml_node failure = test.append_child("failure");
      set(failure, "message",
          fmt::format("NCCL {} takes longer than {} by more than {:g} %, or nobody knows how long",
                      to_text(config.to), to_text(config.from), *fail_over * 100));
      failure.text().set(terminal_text(lines).c_str());
    }
  }
  set(suite, "name", fmt::format("NCCL {} to {}", to_text(config.from), to_text(config.to)));
  set(suite, "tests", std::to_string(tests));
  set(suite, "failures", std::to_string(failures));
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fabricast
