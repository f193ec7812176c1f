#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "models/nccl/base/releases.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/whatif/whatif_text.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

BenchConfig two_nodes(Bytes size) {
  BenchConfig out;
  out.topology = "hgx-h200-2nic";
  out.nodes = {2};
  out.sizes = {size};
  return out;
}

BenchConfig changed(BenchConfig config, const std::vector<std::string>& assignments) {
  for (const std::string& one : assignments) config.environment.set(one);
  return config;
}

}  // namespace

TEST_CASE("whatif: gains in order and by Shapley add up to the whole") {
  const BenchConfig before =
      changed(two_nodes({1 << 24}), {"NCCL_IB_HCA==mlx5_0", "NCCL_NET_GDR_LEVEL=LOC"});
  const BenchConfig after =
      changed(two_nodes({1 << 24}), {"NCCL_NET_GDR_LEVEL=SYS", "NCCL_ALGO=Ring"});
  const WhatifResult result = run_whatif(before, after, load_catalogue(), {}, in_turn);
  REQUIRE(result.factors.size() == 3);
  CHECK(result.runs == 8);
  REQUIRE(result.rows.size() == 1);
  const WhatifRow& row = result.rows.front();
  double in_order = 0, shapley = 0;
  for (const Worth& worth : row.worths) {
    in_order += worth.in_order_us.value();
    shapley += worth.shapley_us.value();
  }
  const double whole = row.before.time_us - row.after.time_us;
  CHECK(in_order == doctest::Approx(whole).epsilon(1e-9));
  CHECK(shapley == doctest::Approx(whole).epsilon(1e-9));
  CHECK(row.worths.front().alone_us == row.worths.front().in_order_us);
  CHECK(row.worths.back().last_us == row.worths.back().in_order_us);
}

TEST_CASE(
    "whatif: where NCCL refuses one change without another, that is said and the rest stands") {
  // One NIC leaves one channel to the search: too few for NVLSTree.
  BenchConfig pairs = two_nodes({1 << 26});
  pairs.topology = "dgx-h100";
  pairs.gpus_per_node = 2;
  const BenchConfig before = changed(pairs, {"NCCL_IB_HCA==mlx5_0", "NCCL_NET_GDR_LEVEL=LOC"});
  const BenchConfig after = changed(pairs, {"NCCL_ALGO=NVLSTree", "NCCL_NET_GDR_LEVEL=LOC"});
  const WhatifResult result = run_whatif(before, after, load_catalogue(), {}, in_turn);
  CHECK(result.runs == 3);
  REQUIRE(result.factors.size() == 2);
  CHECK(result.factors[0].name == "NCCL_ALGO");
  const Worth &algorithm = result.rows.front().worths[0], &nics = result.rows.front().worths[1];
  CHECK_FALSE(algorithm.alone_us);
  CHECK_FALSE(algorithm.in_order_us);
  CHECK_FALSE(nics.last_us);
  // One order is left: first the NICs.
  CHECK(algorithm.shapley_us == algorithm.last_us);
  CHECK(nics.shapley_us == nics.alone_us);
  const WhatifRow& row = result.rows.front();
  CHECK(*algorithm.shapley_us + *nics.shapley_us ==
        doctest::Approx(row.before.time_us - row.after.time_us).epsilon(1e-9));
  CHECK(std::ranges::any_of(result.notes, [](const std::string& note) {
    return note.starts_with(
        "with NCCL_ALGO=NVLSTree alone nothing is simulated: all_reduce: NCCL "
        "refuses the call");
  }));
  CHECK(whatif_text(result).find("refused") != std::string::npos);
}

TEST_CASE("whatif: of what is told within bounds no links and causes are compared") {
  BenchConfig before = changed(two_nodes({std::int64_t{4} << 30}), {"NCCL_ALGO=Ring"});
  before.topology = "dgx-h100";
  before.nodes = {24};  // chunks of LL128 are uneven in 2.21.5
  before.version = nccl_version_from_text("2.21.5");
  before.budget = microseconds(1000);
  const WhatifResult result =
      run_whatif(changed(before, {"NCCL_PROTO=LL128"}), changed(before, {"NCCL_PROTO=Simple"}),
                 load_catalogue(), {}, in_turn);
  CHECK(result.rows.front().mechanism ==
        "Ring Simple instead of Ring LL128; bounds say nothing of links and causes");
}

TEST_CASE("whatif: a step's times are those of step") {
  StepConfig before = load_step(FABRICAST_TEST_DATA "/../../scenarios/steps/claim-fsdp.yaml");
  StepConfig after = before;
  before.environment.set("NCCL_NET_GDR_LEVEL", "LOC");
  before.environment.set("NCCL_IB_HCA", "=mlx5_0");
  const PartsCatalogue parts = load_catalogue();
  const WhatifResult result = run_whatif(before, after, parts, {}, in_turn);
  REQUIRE(result.rows.size() == 1);
  const WhatifRow& row = result.rows.front();
  const StepResult first = run_step(before, parts), last = run_step(after, parts);
  CHECK(row.before.time_us == microseconds_of(first.step.time));
  CHECK(row.after.time_us == microseconds_of(last.step.time));
  CHECK(row.after.tokens_per_s == last.tokens_per_s);
  CHECK(row.mechanism.find("DP, exposed: -") == 0);
  CHECK(whatif_text(result).find("in ms ") != std::string::npos);
  const Report report = whatif_report(result, before, after);
  CHECK(report.table("before_and_after").at(0, "after_tokens_per_s") == last.tokens_per_s);
  CHECK(report.job["before"]["nodes"] == Json({before.nodes}));
  CHECK(report.job["after"]["nodes"] == Json({before.nodes}));
}

TEST_CASE("whatif: each setup is compared with the first") {
  const BenchConfig work = two_nodes({1 << 20});
  const WhatifTable table = compare_all(
      {{"as it is", work}, {"the same", work}, {"a ring", changed(work, {"NCCL_ALGO=Ring"})}},
      load_catalogue(), {}, in_turn);
  CHECK(table.total_us(0) == table.total_us(1));
  CHECK(table.total_us(2) > table.total_us(0));
  const std::string text = whatif_text(table);
  CHECK(text.find("# 3 setups, each against the first: \"as it is\"") == 0);
  CHECK(text.find("#   the same: changes nothing here\n") != std::string::npos);
  CHECK(text.find("#   a ring: Ring ") != std::string::npos);
  const Report report = whatif_report(table, {{"as it is", work}, {"a ring", work}});
  CHECK(report.job["setups"]["a ring"]["nodes"] == Json({2}));
}

TEST_CASE("whatif: what cannot be compared") {
  const BenchConfig work = two_nodes({1 << 20});
  const PartsCatalogue parts = load_catalogue();
  CHECK(error_text([&] { run_whatif(work, work, parts, {}, in_turn); }) ==
        "before and after are the same: nothing to compare");
  BenchConfig other = work;
  other.topology = "gh200-4";
  CHECK(error_text([&] { run_whatif(work, other, parts, {}, in_turn); }) ==
        "before and after are not the same work: other numbers of ranks or sizes\n"
        "hint: give --gpus-per-node and --nodes such that both have as many ranks");
}

TEST_CASE("whatif: scenarios") {
  const auto refused = [](const std::string& text) {
    return error_text([&] {
      parse_scenario("kind: scenario\nstudy: whatif\nname: x\nquestion: x?\n" + text, "x.yaml");
    });
  };
  const std::string work = "topology: dgx-h100\nsizes: 1MiB\n";
  CHECK(refused(work + "cases:\n  - name: one\n") ==
        "x.yaml:7: cases: study whatif compares two setups or more\nhint: the first one is before");
  for (const std::string key : {"sizes", "sharp", "nodes", "gpus_per_node", "cuda_graph"})
    CHECK(refused(work + "cases:\n  - name: one\n  - name: two\n    " + key + ": 1\n") ==
          "x.yaml:10: cases[1]." + key +
              ": cases of study whatif differ by topology, fabric, nccl and environment\n"
              "hint: say it above cases, for all of them");
  CHECK(refused(work + "explain: true\n") == "x.yaml:7: explain: means nothing to study whatif");
}
