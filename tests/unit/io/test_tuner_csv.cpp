#include <doctest/doctest.h>

#include <string>

#include "models/io/tuners/tuner_csv.hpp"
#include "models/studies/cutover/tuner_rules.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

bool every_pair(Algorithm, Protocol) { return true; }

}  // namespace

TEST_CASE("tuner file: read as the example plugin reads it") {
  const auto rules = parse_tuner_csv(
      "# a comment\n"
      "\n"
      "allreduce,0,65536,tree,ll,2,2,16,-1,-1\n"
      " allgather , 65537 ,9223372036854775807, nvls ,simple,16,-1,-1\n"
      "reduce_scatter,0,1K,cube,ll256,-1,-1,-1,4,1,what,follows\n"
      "broadcast,,0,10,ring,ll128,4,1,8\r\n"
      "allreduce,0,10,ring,simple,1,1\n");
  REQUIRE(rules.size() == 4);
  CHECK(rules[0] == TunerRule{Collective::all_reduce, 0, 65536, Algorithm::tree, Protocol::ll, 2, 2,
                              16, -1, -1});
  CHECK(rules[1] == TunerRule{Collective::all_gather, 65537, kAnyTunerSize, Algorithm::nvls,
                              Protocol::simple, 16, -1, -1, -1, -1});
  // Words it does not know, and a number that ends at its first letter.
  CHECK(rules[2] == TunerRule{Collective::all_reduce, 0, 1, Algorithm::ring, Protocol::simple, -1,
                              -1, -1, 4, 1});
  // Empty fields vanish.
  CHECK(rules[3] ==
        TunerRule{Collective::broadcast, 0, 10, Algorithm::ring, Protocol::ll128, 4, 1, 8, -1, -1});
}

TEST_CASE("tuner file: a line of 256 characters is two") {
  std::string line = "allreduce,0,10,ring,simple,1,1,8";
  line += std::string(255 - line.size(), ' ');
  const auto rules = parse_tuner_csv(line + "allgather,0,10,ring,ll,1,1,8\n");
  REQUIRE(rules.size() == 2);
  CHECK(rules[1].collective == Collective::all_gather);
}

TEST_CASE("tuner file: the first rule that matches and can be had") {
  const auto rules = parse_tuner_csv(
      "allreduce,0,100,nvls,simple,8,2,16\n"
      "allreduce,0,100,tree,ll,-1,2,16\n"
      "allreduce,101,200,ring,ll,4,-1,-1,-1,1\n");
  const auto no_nvls = [](Algorithm a, Protocol) { return a != Algorithm::nvls; };
  const TunerCall call{Collective::all_reduce, 100, 2, 16};
  CHECK(matching_rule(rules, call, every_pair) == 0);
  CHECK(matching_rule(rules, call, no_nvls) == 1);
  CHECK_FALSE(matching_rule(rules, {Collective::all_reduce, 150, 2, 16}, every_pair));
  CHECK(matching_rule(rules, {Collective::all_reduce, 150, 2, 16, 1, true}, every_pair) == 2);
  CHECK_FALSE(matching_rule(rules, {Collective::all_reduce, 100, 4, 32}, every_pair));
}

TEST_CASE("tuner file: what is written, read back, is what was meant at every size" *
          minutes_under_sanitizers()) {
  BenchConfig config;
  config.topology = "dgx-h100";
  config.nodes = kSanitized ? std::vector{2} : std::vector{1, 2};
  config.gpus_per_node = 2;
  config.version = kNccl2_27_7;
  const TunerPlan plan = plan_tuner(config, load_catalogue(), in_turn);
  const auto rules = parse_tuner_csv(tuner_file(plan));
  CHECK(rules == plan.rules);
  REQUIRE(plan.picks.size() == 30 * config.nodes.size());  // powers of two from 8 B to 4 GiB
  for (const TunerPick& pick : plan.picks) {
    CAPTURE(pick.size.count);
    const auto at = matching_rule(rules, {pick.collective, pick.size.count, pick.nodes, pick.ranks},
                                  every_pair);
    REQUIRE(at);
    CHECK(rules[*at].algorithm == pick.algorithm);
    CHECK(rules[*at].protocol == pick.protocol);
    CHECK(rules[*at].channels == pick.channels);
    // Another choice only where it is better beyond doubt.
    if (!pick.is_own()) CHECK(pick.time_us * doubt_of(pick.algorithm, pick.nodes) < pick.own_us);
  }
  // No size is left to the plugin's single channel.
  const auto rule_at = [&](const TunerRule& like, std::int64_t bytes) {
    return matching_rule(rules, {like.collective, bytes, like.nodes, like.ranks}, every_pair);
  };
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const TunerRule& rule = rules[i];
    CHECK(rule.channels > 0);
    for (const std::int64_t bytes : {rule.bytes_min, rule.bytes_max})
      CHECK(rule_at(rule, bytes) == i);
    if (rule.bytes_min > 0) {
      const auto before = rule_at(rule, rule.bytes_min - 1);
      REQUIRE(before);
      CHECK(rules[*before].bytes_max == rule.bytes_min - 1);
    }
  }
}

TEST_CASE("tuner file: with a budget large calls are extrapolated, and picks are mostly the same" *
          minutes_under_sanitizers()) {
  BenchConfig config;
  config.topology = "dgx-h100";
  config.nodes = {2};
  config.gpus_per_node = 2;
  config.version = kNccl2_27_7;
  const TunerPlan whole = plan_tuner(config, load_catalogue(), in_turn);
  config.budget = Duration{1'000'000};
  const TunerPlan some = plan_tuner(config, load_catalogue(), in_turn);
  REQUIRE(some.picks.size() == whole.picks.size());
  int same = 0, changed = 0;
  for (std::size_t i = 0; i < whole.picks.size(); ++i) {
    const TunerPick &a = whole.picks[i], &b = some.picks[i];
    CAPTURE(a.size.count);
    CHECK(a.own_algorithm == b.own_algorithm);
    CHECK(b.own_us == doctest::Approx(a.own_us).epsilon(0.15));
    same += a.algorithm == b.algorithm && a.protocol == b.protocol;
    changed += a.own_us != b.own_us;
  }
  CHECK(changed > 0);
  CHECK(same >= 27);  // of 30
}

TEST_CASE("tuner file: older plugins read none") {
  BenchConfig config;
  config.topology = "dgx-h100";
  config.version = {20, 5};
  CHECK(error_text([&] { plan_tuner(config, load_catalogue(), in_turn); }) ==
        "no tuner plugin for NCCL 2.20.5 reads a file\n"
        "hint: those for 2.21 and later do: --nccl 2.27.7");
}
