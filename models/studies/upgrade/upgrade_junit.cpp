// What an upgrade costs as JUnit XML, which CI systems show.
#include <fmt/format.h>

#include "models/io/report/junit.hpp"
#include "models/studies/upgrade/upgrade_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

std::string upgrade_junit(const UpgradeResult& result, std::optional<double> fail_over) {
  const UpgradeConfig& config = result.config;
  JunitSuite suite{fmt::format("NCCL {} to {}", to_text(config.from), to_text(config.to)), {}};
  for (std::size_t t = 0; t < config.targets.size(); ++t) {
    for (const Collective collective : config.collectives) {
      JunitCase& test = suite.cases.emplace_back();
      test.class_name = config.targets[t].name;
      test.name = to_text(collective);
      for (const UpgradeChange& change : result.changes) {
        if (change.target != t || change.collective != collective) continue;
        for (const UpgradeStretch& one : change.stretches) {
          if (!fail_over || (one.has_times() && one.change() <= *fail_over)) continue;
          const std::string change_text =
              one.has_times() ? fmt::format("{:+.1f} %", one.change() * 100) : "not known";
          test.details +=
              fmt::format("{}: {} on {} nodes, {} instead of {}; since {}: {}\n", change_text,
                          to_text(one.size), one.nodes, one.after.choice(), one.before.choice(),
                          to_text(change.cause.since), change.cause.text);
        }
      }
      if (!test.details.empty())
        test.failure = fmt::format(
            "NCCL {} takes longer than {} by more than {:g} %, or nobody knows how long",
            to_text(config.to), to_text(config.from), *fail_over * 100);
    }
  }
  return junit_xml({suite});
}

}  // namespace fabricast
