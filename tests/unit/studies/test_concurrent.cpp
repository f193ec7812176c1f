// Goal: groups of a training job, laid out as in Megatron, run at the same time and are compared
// with each of them alone.
// Method: groups of a layout against its definition; groups that share no link are not slower, one
// that shares all of them takes as long as both; what a scenario may get wrong, in words.

#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

using Groups = std::vector<std::vector<int>>;

const std::string kJob =
    "kind: scenario\nstudy: concurrent\nname: x\nquestion: y\ntopology: dgx-h100\nnodes: 2\n";

ScenarioResult answered(const std::string& text) {
  return run_scenario(parse_scenario(kJob + text, "s.yaml"), load_catalogue());
}

std::string job_error(const std::string& text) {
  return error_text([&] { answered(text); });
}

}  // namespace

TEST_CASE("concurrent: the groups of a layout") {
  const RankLayout layout{{{"tp", 2}, {"dp", 2}, {"pp", 2}}};
  CHECK(layout.ranks() == 8);
  CHECK(layout.groups({"tp"}) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(layout.groups({"dp"}) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(layout.groups({"pp"}) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(layout.groups({"dp", "pp"}) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(layout.groups({"tp", "dp", "pp"}) == Groups{{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("concurrent: NVLink beside NICs costs nothing, the same NIC twice doubles the time") {
  const ScenarioResult got = answered(
      "layout: {tp: 8, dp: 2}\n"
      "groups:\n"
      "  - {name: TP, over: tp, collective: all_reduce, size: 8 MiB, repeat: 2}\n"
      "  - {name: DP, over: dp, collective: all_reduce, size: 256 MiB}\n"
      "  - {name: again, over: dp, collective: all_reduce, size: 256 MiB}\n"
      "expect:\n"
      "  - {group: TP, slowdown_at_most: 1}\n"
      "  - {group: DP, slowdown_at_least: 1.85, slowdown_at_most: 2}\n"
      "  - {group: again, slowdown_at_least: 3}\n");
  REQUIRE(got.answers.size() == 1);
  const std::vector<ConcurrentGroupResult>& groups =
      std::get<ConcurrentAnswer>(got.answers[0]).result.groups;
  CHECK(groups[0].communicators == 2);
  CHECK(groups[0].ranks == 8);
  CHECK(groups[0].shared.empty());
  CHECK(groups[0].nic_share == 0);
  CHECK(groups[1].communicators == 8);
  CHECK(groups[1].nic_share == 0.5);
  REQUIRE_FALSE(groups[1].shared.empty());
  CHECK(groups[1].shared[0].own_share == 0.5);
  CHECK(groups[1].alone == groups[2].alone);
  CHECK(std::get<ConcurrentAnswer>(got.answers[0]).result.sms == 132);
  REQUIRE(got.verdicts.size() == 3);
  CHECK(got.verdicts[0].holds);
  CHECK(got.verdicts[1].holds);
  CHECK_FALSE(got.verdicts[2].holds);
  CHECK(got.verdicts[0].text == "TP: slowdown 1, at most 1");
}

// Calls of other protocols have other leads before their first byte, so that links of both are
// booked on arrival, and sends are another machine's. A ring inside a node goes on in step on such
// links, too: it took 8 to 17 % less beside anything, even what had ended long before.
TEST_CASE("concurrent: a ring takes its time alone beside what has ended before") {
  const std::string other[] = {"over: tp, collective: all_reduce, size: 64 KiB",
                               "over: dp, collective: sendrecv, size: 64 KiB"};
  for (const std::string topology : {"hgx-b200", "dgx-h100", "dgx-a100", "pcie-8"}) {
    for (const std::string ring : {"all_reduce", "all_gather", "reduce_scatter", "broadcast"}) {
      for (const std::string& before : other) {
        CAPTURE(topology);
        CAPTURE(ring);
        CAPTURE(before);
        const ScenarioResult got = run_scenario(
            parse_scenario(
                "kind: scenario\nstudy: concurrent\nname: x\nquestion: y\ntopology: " + topology +
                    "\nnodes: 1\nlayout: {tp: 4, dp: 2}\ngroups:\n"
                    "  - {name: B, " +
                    before + "}\n  - {name: A, over: dp, start: 10 ms, collective: " + ring +
                    ", size: 16 MiB}\n",
                "s.yaml"),
            load_catalogue());
        const auto& group = std::get<ConcurrentAnswer>(got.answers[0]).result.groups[1];
        CHECK(group.together == group.alone);
      }
    }
  }
}

TEST_CASE("concurrent: a later start is out of the way, and counts from there") {
  const ScenarioResult got = answered(
      "layout: {tp: 8, dp: 2}\n"
      "groups:\n"
      "  - {name: first, over: dp, collective: all_gather, size: 1 MiB}\n"
      "  - {name: second, over: dp, collective: all_gather, size: 1 MiB, start: 5 ms}\n");
  const std::vector<ConcurrentGroupResult>& groups =
      std::get<ConcurrentAnswer>(got.answers[0]).result.groups;
  CHECK(groups[0].together == groups[0].alone);
  CHECK(groups[1].together == groups[0].together);
  CHECK(std::get<ConcurrentAnswer>(got.answers[0]).result.time ==
        Duration{5'000'000'000} + groups[1].together);
}

TEST_CASE("concurrent: what a scenario may get wrong") {
  const std::string layout = "layout: {tp: 8, dp: 2}\n";
  const std::string group = "groups: [{name: DP, over: dp, collective: all_gather, size: 1 MiB}]\n";
  CHECK(job_error(layout) ==
        "s.yaml:1: missing key \"groups\"\nhint: say what runs at the same time");
  CHECK(job_error(layout + "sizes: 1MiB\n" + group)
            .starts_with("s.yaml:8: sizes: means nothing to study concurrent"));
  CHECK(job_error("layout: {tp: 8, dp: 4}\n" + group) ==
        "s.yaml: the layout has 32 ranks, 2 nodes with 8 GPUs have 16\n"
        "hint: the sizes of its dimensions multiply to the number of ranks");
  CHECK(
      job_error(layout + "groups: [{name: DP, over: db, collective: all_gather, size: 1 MiB}]\n") ==
      "s.yaml:8: groups[0].over: the layout has no dimension \"db\"\nhint: did you mean \"dp\"?");
  CHECK(job_error("layout: {tp: 3, dp: 1}\ngpus_per_node: 3\nnodes: 1\n" + group) != "");
  CHECK(job_error(layout + group + "expect: [{group: DQ, slowdown_at_most: 2}]\n")
            .starts_with("s.yaml:9: expect[0].group: no group is named \"DQ\""));
  CHECK(job_error(layout + group + "expect: [{group: DP}]\n") ==
        "s.yaml:9: expect[0]: nothing is expected\n"
        "hint: add a bound like slowdown_at_most: 1.5");
  CHECK(job_error("layout: {a: 2, b: 4, c: 2}\n" + group).find("\"dp\"") != std::string::npos);
  CHECK(job_error("layout: {cp-dp: 16}\n" + group) ==
        "s.yaml:7: layout.cp-dp: a dimension's name has no \"-\": that joins names");
}
