// Goal: a scenario says where it is wrong before anything is run, and judges what was run.
// Method: small texts with one mistake each, whole messages compared; bounds on both sides of a
// time that is known exactly: eight serialised launches of 4.4 us are 35.2 us.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// Lines 1 to 6; what a test adds starts at line 7.
const std::string kScenario =
    "kind: scenario\n"
    "study: bench\n"
    "name: s\n"
    "question: Why?\n"
    "topology: dgx-h100\n"
    "sizes: 1KiB,1MiB\n";

Scenario parsed(const std::string& added) { return parse_scenario(kScenario + added, "s.yaml"); }

std::string mistake(const std::string& added) {
  return error_text([&] { parsed(added); });
}

const BenchConfig& bench_of(const Scenario& scenario, std::size_t number) {
  return std::get<BenchConfig>(scenario.cases[number].ask);
}

ScenarioResult result_of(const std::string& added) {
  return run_scenario(parsed(added), load_catalogue());
}

const std::string kTwoCases =
    "cases:\n"                                         // 7
    "  - {name: a, environment: {NCCL_ALGO: Ring}}\n"  // 8
    "  - {name: b, environment: {NCCL_ALGO: Tree}}\n"  // 9
    "expect:\n";                                       // 10

}  // namespace

TEST_CASE("a case says what differs from the scenario") {
  const Scenario s = parsed(
      "nodes: 2\n"
      "environment: {NCCL_PROTO: Simple}\n"
      "cases:\n"
      "  - {name: a}\n"
      "  - {name: b, nodes: 4, environment: {NCCL_ALGO: Tree}, explain: true}\n");
  REQUIRE(s.cases.size() == 2);
  CHECK(s.question == "Why?");
  CHECK(bench_of(s, 0).nodes == std::vector{2});
  CHECK(bench_of(s, 1).nodes == std::vector{4});
  CHECK(bench_of(s, 1).environment.get("NCCL_PROTO") == "Simple");
  CHECK(bench_of(s, 1).environment.get("NCCL_ALGO") == "Tree");
  CHECK(!bench_of(s, 0).environment.get("NCCL_ALGO"));
  CHECK(!bench_of(s, 0).explain);
  CHECK(bench_of(s, 1).explain);
  CHECK(parsed("").cases.at(0).name == "s");
}

TEST_CASE("faults: a case's own replace those of the scenario") {
  const Scenario s = parsed(
      "nodes: 2\n"
      "faults: [\"nic node0:mlx5_0 rate 50%\", gpu node1:gpu2 speed 80%]\n"
      "cases:\n"
      "  - {name: a}\n"
      "  - {name: b, faults: []}\n");
  REQUIRE(bench_of(s, 0).faults.size() == 2);
  CHECK(bench_of(s, 0).faults[0].share == 0.5);
  CHECK(bench_of(s, 0).faults[1].name == "node1:gpu2");
  CHECK(bench_of(s, 1).faults.empty());
  CHECK(mistake("faults: [nic node0:mlx5_0 rate 0%]\n") ==
        "s.yaml:7: faults: \"0%\" is no share from 0.001 % to 100 %\nhint: write it like 5%");
}

TEST_CASE("a mistake that is met when a case runs says which case") {
  const std::string cases =
      "cases:\n"
      "  - {name: a}\n"
      "  - {name: b, ";
  const auto refusal = [](const std::string& added) {
    return error_text([&] { result_of(added); });
  };
  CHECK(refusal(cases + "topology: dgx-h10}\n") ==
        "s.yaml:9: cases[1].topology: unknown topology \"dgx-h10\"\nhint: did you mean "
        "\"dgx-h100\"?");
  CHECK(refusal("fabric: fabric-ndr-rial\n") ==
        "s.yaml:7: fabric: unknown fabric \"fabric-ndr-rial\"\nhint: did you mean "
        "\"fabric-ndr-rail\"?");
  CHECK(refusal(cases + "faults: [nic node0:mlx5_99 rate 5%]}\n") ==
        "s.yaml:9: cases[1]: \"nic node0:mlx5_99 rate 5%\": \"mlx5_99\" is no NIC\n"
        "hint: did you mean \"mlx5_9\"?");
  CHECK(refusal("environment: {NCCL_ALGO: Rong}\n")
            .starts_with("s.yaml: NCCL_ALGO=Rong: \"Rong\" is unknown"));
}

TEST_CASE("a variable may be set to nothing, as NAME= does on the command line") {
  const Scenario s = parsed("environment: {NCCL_ALGO: \"\"}\n");
  CHECK(bench_of(s, 0).environment.get("NCCL_ALGO") == "");
  CHECK(mistake("environment: {NCCL_ALGO: }\n") ==
        "s.yaml:7: environment.NCCL_ALGO: a single value is expected here, not nothing");
}

TEST_CASE("mistakes in what is asked") {
  CHECK(mistake("enviroment: {NCCL_ALGO: Ring}\n") ==
        "s.yaml:7: unknown key \"enviroment\"\nhint: did you mean \"environment\"?");
  CHECK(mistake("expct: []\n") ==
        "s.yaml:7: unknown key \"expct\"\nhint: did you mean \"expect\"?");
  CHECK(mistake("nodes: 0\n") == "s.yaml:7: nodes: nodes must be at least 1");
  CHECK(mistake("nodes: [1, 2]\n") ==
        "s.yaml:7: nodes: a single value is expected here, not a list");
  CHECK(mistake("nccl: 2.17\n") ==
        "s.yaml:7: nccl: the rules of NCCL 2.17 are not known\n"
        "hint: they are from 2.18.6 to 2.31.0a7; fabricast decide --releases lists them");
  CHECK(mistake("collective: allreduce\n") ==
        "s.yaml:7: collective: unknown collective \"allreduce\"\n"
        "hint: did you mean \"all_reduce\"?");
  CHECK(mistake("datatype: flot\n") ==
        "s.yaml:7: datatype: unknown datatype \"flot\"\nhint: did you mean \"float\"?");
  CHECK(mistake("gpus_per_node: 0\n") == "s.yaml:7: gpus_per_node: 0 is too small: at least 1");
  CHECK(mistake("environment: NCCL_ALGO=Ring\n") ==
        "s.yaml:7: environment: a mapping (key: value) is expected here, not a single value");
  CHECK(mistake("cases: [{name: a}, {name: a}]\n") ==
        "s.yaml:7: cases[1].name: two cases are named \"a\"");
  CHECK(error_text([] { parse_scenario("kind: node\n", "s.yaml"); }) ==
        "s.yaml:1: kind: unknown word \"node\"\nhint: known: scenario");
  const std::string headless = "kind: scenario\nstudy: bench\nname: s\nquestion: Why?\n";
  CHECK(error_text([&] { parse_scenario(headless, "s.yaml"); }) ==
        "s.yaml:1: missing key \"topology\"\nhint: name a preset or a YAML file");
  const auto misspelt = [&](const std::string& added) {
    return error_text([&] { parse_scenario("kind: scenario\n" + added, "s.yaml"); });
  };
  CHECK(misspelt("study: bench\nname: s\nqestion: Why?\n") ==
        "s.yaml:4: missing key \"question\"\nhint: \"qestion\" stands there: did you mean "
        "\"question\"?");
  CHECK(misspelt("stduy: bench\n") ==
        "s.yaml:2: missing key \"study\"\nhint: \"stduy\" stands there: did you mean "
        "\"study\"?");
  CHECK(misspelt("name: s\n") == "s.yaml:1: missing key \"study\"");
  CHECK(error_text([&] { parse_scenario(headless + "topology: dgx-h100\n", "s.yaml"); }) ==
        "s.yaml:1: missing key \"sizes\"\nhint: write sizes like 8B..1GiB or 1MiB,64MiB");
  CHECK(error_text([] { load_scenario("no/such.yaml"); }) ==
        "no/such.yaml: cannot be read\nhint: give the path of a scenario file");
}

TEST_CASE("a name too long for the file system is no preset") {
  const std::string name(5000, 'x');
  CHECK(error_text([&] {
          parse_scenario(
              "kind: scenario\nstudy: bench\nname: s\nquestion: Why?\n"
              "sizes: 8B\ntopology: " +
                  name + "\n",
              "s.yaml");
        }).starts_with("s.yaml:6: topology: unknown topology \"xxx"));
}

TEST_CASE("mistakes in what is expected") {
  const auto expect = [](const std::string& line) {
    return mistake("expect:\n  - {" + line + "}\n");
  };
  CHECK(expect("busbw_at_most: 1 GB/s") == "s.yaml:8: expect[0]: missing key \"size\"");
  CHECK(expect("size: 1 MiB") ==
        "s.yaml:8: expect[0]: nothing is expected\nhint: add a bound like busbw_at_most: 48 GB/s");
  CHECK(expect("size: 1 MiB, busbw_at_mots: 1 GB/s") ==
        "s.yaml:8: expect[0]: unknown key \"busbw_at_mots\"\n"
        "hint: did you mean \"busbw_at_most\"?");
  CHECK(expect("size: 1 MiB, busbw_at_most: 1 GBs") ==
        "s.yaml:8: expect[0].busbw_at_most: unknown unit \"GBs\"\nhint: did you mean \"GB/s\"?");
  CHECK(expect("size: 2 MiB, time_at_most: 1 s") ==
        "s.yaml:8: expect[0].size: 2 MiB is not run\nhint: name one of the sizes");
  CHECK(expect("size: 1 MiB, time_at_least: 2 s, time_at_most: 1 s") ==
        "s.yaml:8: expect[0]: at_least is above at_most: this can never hold");
  CHECK(expect("size: 1 MiB, collective: reduce, time_at_most: 1 s") ==
        "s.yaml:8: expect[0].collective: reduce is not run");
  CHECK(expect("size: 1 MiB, algorithm: Rnig") ==
        "s.yaml:8: expect[0].algorithm: unknown word \"Rnig\"\nhint: did you mean "
        "\"Ring\"?");
  CHECK(expect("size: 1 MiB, protocol: LL182") ==
        "s.yaml:8: expect[0].protocol: unknown word \"LL182\"\nhint: did you mean \"LL128\"?");
  CHECK(expect("size: 1 MiB, busbw_ratio_at_most: 2") ==
        "s.yaml:8: expect[0]: a ratio needs \"over\": the case to compare with");
  CHECK(expect("size: 1 MiB, measured_time: 1 s") ==
        "s.yaml:8: expect[0]: missing key \"source\"\nhint: say who measured it: an address");
  CHECK(expect("size: 1 MiB, time_at_most: 1 s, source: me") ==
        "s.yaml:8: expect[0].source: belongs to a measured figure\n"
        "hint: add measured_busbw, measured_time or measured_busbw_ratio");
  CHECK(expect("size: 1 MiB, over: s, measured_busbw_ratio: 0, source: me") ==
        "s.yaml:8: expect[0].measured_busbw_ratio: must be above 0");
  CHECK(mistake("report: short\n") ==
        "s.yaml:7: report: unknown word \"short\"\nhint: known: full, summary");
}

TEST_CASE("an expectation speaks of one thing that is run") {
  const auto of_case = [](const std::string& line) { return mistake(kTwoCases + line); };
  CHECK(of_case("  - {size: 1 MiB, time_at_most: 1 s}\n") ==
        "s.yaml:11: expect[0]: 2 cases are run: say which\nhint: known: a, b");
  CHECK(of_case("  - {case: c, size: 1 MiB, time_at_most: 1 s}\n") ==
        "s.yaml:11: expect[0].case: no case is named \"c\"\nhint: known: a, b");
  CHECK(of_case("  - {case: a, over: c, size: 1 MiB, busbw_ratio_at_most: 2}\n") ==
        "s.yaml:11: expect[0].over: no case is named \"c\"\nhint: known: a, b");
  CHECK(of_case("  - {case: a, over: b, size: 1 MiB, time_at_most: 1 s}\n") ==
        "s.yaml:11: expect[0].over: compares nothing\n"
        "hint: add busbw_ratio_at_least, busbw_ratio_at_most or measured_busbw_ratio");
  const std::string many = "nodes: 1,2\ncollective: reduce,broadcast\nexpect:\n";
  CHECK(mistake(many + "  - {size: 1 MiB, nodes: 1, time_at_most: 1 s}\n") ==
        "s.yaml:10: expect[0]: 2 collectives are run: say which");
  CHECK(mistake(many + "  - {size: 1 MiB, collective: reduce, time_at_most: 1 s}\n") ==
        "s.yaml:10: expect[0]: 2 numbers of nodes are run: say which");
  CHECK(mistake(many + "  - {size: 1 MiB, collective: reduce, nodes: 4, time_at_most: 1 s}\n") ==
        "s.yaml:10: expect[0].nodes: 4 nodes are not run");
}

TEST_CASE("bounds on both sides of a known time") {
  const std::string launches = "gpus_per_process: 8\nexpect:\n";
  const ScenarioResult holds = result_of(
      launches +
      "  - {size: 1 KiB, time_at_least: 35.2 us, time_at_most: 35.2 us, because: exact}\n");
  CHECK(holds.holds());
  CHECK(holds.verdicts.at(0).text ==
        "1 KiB all_reduce: time 35.2 us, at least 35.2, at most 35.2 (exact)");
  const ScenarioResult fails = result_of(launches +
                                         "  - {size: 1 KiB, time_at_most: 35.1 us}\n"
                                         "  - {size: 1 KiB, time_at_least: 35.3 us}\n");
  CHECK(!fails.holds());
  CHECK(!fails.verdicts.at(0).holds);
  CHECK(!fails.verdicts.at(1).holds);
  CHECK(fails.verdicts.at(0).text == "1 KiB all_reduce: time 35.2 us, at most 35.1");
  const std::string text = scenario_text(fails);
  CHECK(text.starts_with("# Why?\n"));
  CHECK(text.find("# FAILED  1 KiB all_reduce: time 35.2 us, at most 35.1\n") != std::string::npos);
}

TEST_CASE("algorithm, protocol, ratio and limiting link") {
  const ScenarioResult r = result_of(
      kTwoCases +
      "  - {case: b, size: 1 MiB, algorithm: Tree}\n"
      "  - {case: b, size: 1 MiB, algorithm: Ring}\n"
      "  - {case: a, size: 1 MiB, limiting_link: NVLink x18}\n"
      "  - {case: a, size: 1 MiB, limiting_link: mlx5_0}\n"
      "  - {case: a, over: a, size: 1 MiB, busbw_ratio_at_least: 1, busbw_ratio_at_most: 1}\n"
      "  - {case: a, over: b, size: 1 MiB, busbw_ratio_at_least: 1000}\n");
  const auto verdict = [&](std::size_t i) { return r.verdicts.at(i); };
  CHECK(verdict(0).holds);
  CHECK(verdict(0).text == "b, 1 MiB all_reduce: algorithm Tree");
  CHECK(!verdict(1).holds);
  CHECK(verdict(1).text == "b, 1 MiB all_reduce: algorithm Tree, not Ring");
  CHECK(verdict(2).holds);
  CHECK(!verdict(3).holds);
  CHECK(verdict(3).text.ends_with(", not \"mlx5_0\""));
  CHECK(verdict(4).holds);
  CHECK(verdict(4).text == "a, 1 MiB all_reduce: busbw over that of a 1, at least 1, at most 1");
  CHECK(!verdict(5).holds);
}

TEST_CASE("what was measured stands beside the prediction, and judges nothing") {
  // Case a takes 8 launches of 4.4 us, 35.2 us; case b 4 of them.
  const ScenarioResult r = result_of(
      "cases:\n"
      "  - {name: a, gpus_per_process: 8}\n"
      "  - {name: b, gpus_per_process: 4}\n"
      "expect:\n"
      "  - {case: a, size: 1 KiB, measured_time: 32 us, source: x.org/1}\n"
      "  - {case: b, over: a, size: 1 KiB, measured_busbw_ratio: 2.5, source: x.org/2}\n"
      "  - {case: b, over: a, size: 1 KiB, measured_busbw_ratio: 0.5, source: x.org/3}\n"
      "  - {case: b, over: a, size: 1 KiB, measured_busbw_ratio: 1.05, source: x.org/4}\n");
  CHECK(r.verdicts.empty());
  CHECK(r.holds());
  REQUIRE(r.comparisons.size() == 4);
  CHECK(r.comparisons[0].predicted == doctest::Approx(35.2));
  CHECK(r.comparisons[1].predicted == doctest::Approx(2));
  const std::string text = scenario_text(r);
  const auto shows = [&](const std::string& line) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  };
  shows("32 us    35.2 us   +10.0 %                   x.org/1\n");
  shows("2.5          2   -20.0 %  same direction   x.org/2\n");
  shows("0.5          2  +300.0 %  OTHER DIRECTION  x.org/3\n");
  shows("1.05          2   +90.5 %                   x.org/4\n");
}

TEST_CASE("a summary has one line per row and each note once") {
  const std::string text =
      scenario_text(result_of("report: summary\ncases: [{name: a, gpus_per_process: 8}, {name: b, "
                              "gpus_per_process: 8}]\n"));
  CHECK(text.find("a         1      8  1 KiB  all_reduce  Ring LL") != std::string::npos);
  CHECK(text.find("b         1      8  1 MiB  all_reduce") != std::string::npos);
  CHECK(text.find("out-of-place") == std::string::npos);
}

TEST_CASE("pages and summaries of a scenario have the bands of bench") {
  const ScenarioResult whole = result_of("nodes: 2\n");
  const auto& bench = std::get<BenchResult>(whole.answers.front());
  CHECK(scenario_text(whole).find(bench_text(bench, load_bands({}))) != std::string::npos);
  CHECK(bench_text(bench, load_bands({})).find("80 % of measured times") != std::string::npos);

  const ScenarioResult brief = result_of("nodes: 2\nreport: summary\n");
  const ScenarioRow row = brief.rows().front().front();
  REQUIRE(row.band);
  CHECK(row.band->lower_us <= row.time_us);
  CHECK(row.band->upper_us >= row.time_us);
  const std::string text = scenario_text(brief);
  CHECK(text.find(fmt::format("{:.2f}  {:>8.2f}  {:>8.2f}", row.time_us, row.band->lower_us,
                              row.band->upper_us)) != std::string::npos);
  CHECK(text.find("lower_us, upper_us: 80 % of measured times lie between them.\n") !=
        std::string::npos);
}

TEST_CASE("what rounds down to nothing cannot be judged") {
  const Scenario s = parse_scenario(
      "kind: scenario\nstudy: bench\nname: s\nquestion: Why?\ntopology: dgx-h100\nsizes: 8B\n"
      "collective: all_gather\nexpect: [{size: 8 B, time_at_most: 1 s}]\n",
      "s.yaml");
  CHECK(error_text([&] { run_scenario(s, load_catalogue()); }) ==
        "s.yaml:8: expect[0]: nothing was run at 8 B");
}

namespace {

const std::string kDecide =
    "kind: scenario\n"
    "study: decide\n"
    "name: s\n"
    "question: Which?\n"
    "topology: dgx-h100\n"
    "nodes: 2\n"
    "nccl: 2.27.7\n"
    "sizes: 1KiB,1GiB\n";

std::string decide_mistake(const std::string& added) {
  return error_text([&] { parse_scenario(kDecide + added, "s.yaml"); });
}

}  // namespace

TEST_CASE("study decide: expectations speak of NCCL's own choice and prediction") {
  // dgx-h100 x 2, 1 GiB: NVLSTree at 266.666656 GB/s after 53 us: 4079.53 us, busbw 493.5 GB/s.
  const ScenarioResult result = run_scenario(
      parse_scenario(
          kDecide + "expect:\n"
                    "  - {size: 1 KiB, algorithm: Tree, protocol: LL}\n"
                    "  - {size: 1 GiB, algorithm: nvlstree, time_at_least: 4079 us,"
                    " time_at_most: 4080 us, busbw_at_least: 493 GB/s, busbw_at_most: 494 GB/s}\n"
                    "  - {size: 1 GiB, algorithm: Ring}\n",
          "s.yaml"),
      load_catalogue());
  REQUIRE(result.verdicts.size() == 3);
  CHECK(result.verdicts[0].holds);
  CHECK(result.verdicts[1].holds);
  CHECK_FALSE(result.verdicts[2].holds);
  CHECK(result.verdicts[2].text == "1 GiB all_reduce: algorithm NVLSTree, not Ring");
  CHECK(std::holds_alternative<DecideResult>(result.answers.front()));  // nothing was simulated
  CHECK(scenario_text(result).find("NVLSTree") != std::string::npos);
}

TEST_CASE("an expectation names the nodes where its case runs several numbers of them") {
  const ScenarioResult result =
      run_scenario(parse_scenario("kind: scenario\n"
                                  "study: decide\n"
                                  "name: s\n"
                                  "question: Why?\n"
                                  "topology: dgx-h100\n"
                                  "sizes: 1KiB\n"
                                  "cases:\n"
                                  "  - {name: few, nodes: 2}\n"
                                  "  - {name: more, nodes: \"1,4\"}\n"
                                  "expect:\n"
                                  "  - {case: few, size: 1 KiB, protocol: LL}\n"
                                  "  - {case: more, nodes: 1, size: 1 KiB, protocol: LL}\n"
                                  "  - {case: more, nodes: 4, size: 1 KiB, protocol: LL}\n",
                                  "s.yaml"),
                   load_catalogue());
  REQUIRE(result.verdicts.size() == 3);
  CHECK(result.verdicts[0].text == "few, 1 KiB all_reduce: protocol LL");
  CHECK(result.verdicts[1].text == "more, 1 KiB all_reduce on 1 node: protocol LL");
  CHECK(result.verdicts[2].text == "more, 1 KiB all_reduce on 4 nodes: protocol LL");
}

TEST_CASE("study decide: keys of a simulation are mistakes") {
  CHECK(decide_mistake("root: 1\n") ==
        "s.yaml:9: root: means nothing to study decide, which simulates nothing");
  CHECK(decide_mistake("expect:\n  - {size: 1 KiB, limiting_link: mlx5}\n") ==
        "s.yaml:10: expect[0].limiting_link: means nothing to study decide, which simulates "
        "nothing");
}
