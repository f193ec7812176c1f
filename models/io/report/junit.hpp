#pragma once
// JUnit's XML, which CI systems show.

#include <optional>
#include <string>
#include <vector>

namespace fabricast {

struct JunitCase {
  std::string class_name, name;
  double seconds = 0;
  std::optional<std::string> failure{};  ///< in a sentence; nothing: it holds
  std::string details{};                 ///< of the failure, lines
  std::optional<std::string> skipped{};  ///< why it was not run
  std::string said{};                    ///< what it says in any case
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
};

/// Tests, failures, skipped ones and time are added up for each suite and for all.
std::string junit_xml(const std::vector<JunitSuite>& suites);

}  // namespace fabricast
