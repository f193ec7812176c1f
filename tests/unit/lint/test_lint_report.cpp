// What the linter makes of many files and hostile ones, and how its findings are written down.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "models/lint/lint_text.hpp"
#include "tests/unit/lint/lint_cases.hpp"

#include <nlohmann/json.hpp>

using namespace fabricast;
using namespace fabricast::test;

TEST_CASE("hostile input is cut short, and that is said") {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "export NCCL_IB_TC=96\n";
  const LintResult result = linted(text);
  CHECK(result.settings == 2000);
  CHECK(std::ranges::find(result.notes, "only the first 2000 settings were checked") !=
        result.notes.end());
}

TEST_CASE("files are seen together") {
  LintInput input;
  input.files.push_back(parse_env_file("export NCCL_IB_TC=96\n", "a.sh"));
  input.files.push_back(env_option("NCCL_IB_DISABLE=1"));
  const LintResult result = lint(input, catalogue());
  CHECK(found(result) == "1 FL031 warning");
}

TEST_CASE("several settings of the command line are told apart by their numbers") {
  CHECK(env_option("NCCL_IB_TC=96").path == "--env");
  LintInput input;
  input.files.push_back(env_option("NCCL_IB_TC=x", 1));
  input.files.push_back(env_option("NCCL_NTHREADS=100", 3));
  const LintResult result = lint(input, catalogue());
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].file == "--env #1");
  CHECK(result.findings[1].file == "--env #3");
  CHECK(lint_text(result, kNccl2_21_5).starts_with("--env #1: error: NCCL_IB_TC=x"));
}

TEST_CASE("SARIF names every rule once and points at lines") {
  const LintResult result = linted("export NCCL_BUFFSIZE=4M\nexport NCCL_NTHREADS=100\n", "a b.sh");
  const auto sarif = nlohmann::json::parse(lint_sarif(result));
  CHECK(sarif["version"] == "2.1.0");
  const auto& run = sarif["runs"][0];
  const auto& rules = run["tool"]["driver"]["rules"];
  std::set<std::string> ids;
  for (const auto& rule : rules) CHECK(ids.insert(rule["id"]).second);
  CHECK(ids.size() == lint_rules().size());
  REQUIRE(run["results"].size() == 2);
  const auto& first = run["results"][0];
  CHECK(first["level"] == "error");
  CHECK(rules[first["ruleIndex"].get<std::size_t>()]["id"] == first["ruleId"]);
  const auto& place = first["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "a%20b.sh");
  CHECK(place["region"]["startLine"] == 1);
  CHECK(place["region"]["startColumn"] == 8);
}

TEST_CASE("output survives bytes that are no UTF-8") {
  const LintResult result = linted("export NCCL_DEBUG=\xff\xfe\n");
  CHECK(nlohmann::json::accept(report_json(lint_report(result, kNccl2_21_5))));
  CHECK(nlohmann::json::accept(lint_sarif(result)));
}
