// Goal: the study sums what the communicators of a job take, and says what a variable saves.
// Method: sums and differences against the model asked directly; groups of a layout by hand.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "models/studies/memory/memory_groups.hpp"
#include "models/studies/memory/memory_text.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/report_rows.hpp"

using namespace fabricast;

namespace {

MemoryConfig memory_question(const std::string& topology, int nodes) {
  MemoryConfig out;
  out.topology = topology;
  out.version = kNccl2_27_7;
  out.nodes = {nodes};
  out.sizes = {{1 << 10}, {1 << 20}, {1 << 30}};
  return out;
}

}  // namespace

TEST_CASE("memory: a saving is the difference of two questions") {
  const MemoryConfig asked = memory_question("dgx-h100", 2);
  const MemoryResult result = run_memory(asked, load_catalogue());
  REQUIRE_FALSE(result.savings.empty());
  for (const MemorySaving& saving : result.savings) {
    CAPTURE(saving.variable);
    MemoryConfig other = asked;
    other.environment.set(saving.variable, saving.value);
    const MemoryResult then = run_memory(other, load_catalogue());
    for (const auto& [place, saved] :
         {std::pair{MemoryPlace::gpu, saving.gpu}, std::pair{MemoryPlace::host, saving.host}})
      CHECK(result.cases.front().bytes(place) - then.cases.front().bytes(place) == saved);
  }
  for (std::size_t i = 1; i < result.savings.size(); ++i)
    CHECK(result.savings[i - 1].gpu >= result.savings[i].gpu);
}

// Without cuMem a communicator connects whatever it might call when it is made: that takes more.
TEST_CASE("memory: what takes more is not among what takes less") {
  MemoryConfig asked = memory_question("gh200-4", 1);
  asked.collectives = {Collective::all_gather};
  const MemoryResult result = run_memory(asked, load_catalogue());
  REQUIRE_FALSE(result.savings.empty());
  for (const MemorySaving& saving : result.savings) {
    CAPTURE(saving.variable);
    CHECK(saving.gpu >= 0);
    CHECK(saving.gpu + saving.host > 0);
    CHECK(saving.variable != "NCCL_CUMEM_ENABLE");
  }
}

TEST_CASE("memory: equal communicators take so many times as much") {
  MemoryConfig asked = memory_question("dgx-h100", 1);
  const std::int64_t one =
      run_memory(asked, load_catalogue()).cases.front().bytes(MemoryPlace::gpu);
  asked.communicators = 7;
  CHECK(run_memory(asked, load_catalogue()).cases.front().bytes(MemoryPlace::gpu) == 7 * one);
}

TEST_CASE("memory: releases stand side by side, by number of nodes") {
  MemoryConfig asked = memory_question("dgx-h100", 1);
  asked.nodes = {1, 2};
  asked.releases = {{19, 4}, {27, 7}};
  const MemoryResult result = run_memory(asked, load_catalogue());
  REQUIRE(result.cases.size() == 4);
  CHECK(result.cases[1].nodes == 1);
  CHECK(result.cases[1].version == kNccl2_27_7);
  CHECK(result.cases[2].nodes == 2);
  CHECK(result.cases[2].ranks == 16);
  // 1536 MiB of NVLS against 256.
  CHECK(result.cases[0].bytes(MemoryPlace::gpu) > result.cases[1].bytes(MemoryPlace::gpu));
  const auto rows = testing::rows_of_json(memory_report(result), "rows");
  std::int64_t sum = 0;
  for (const auto& row : rows)
    if (row["nccl"] == "2.19.4" && row["nodes"] == 1 && row["place"] == "gpu")
      sum += row["bytes"].get<std::int64_t>();
  CHECK(sum == result.cases[0].bytes(MemoryPlace::gpu));
}

// 64 GPUs in nodes of 8, TP 4, CP 2, PP 4: DP 2. TP are neighbours, CP pairs of GPUs 4 apart, DP
// with CP four ranks on two nodes, a pipeline one rank in every second node.
TEST_CASE("memory: the groups of a layout") {
  StepConfig step = load_step(FABRICAST_TEST_DATA "/../../scenarios/steps/llama-3-70b.yaml");
  step.layout.gpus = 64;
  const std::vector<AskedGroup> groups = groups_of_layout(step, 8);
  REQUIRE(groups.size() == 5);
  CHECK(groups[0].name == "tp");
  CHECK(groups[0].members == Members({0}, {0, 1, 2, 3}));
  CHECK(groups[1].name == "cp");
  CHECK(groups[1].members == Members({0}, {0, 4}));
  CHECK(groups[2].name == "dp");
  CHECK(groups[2].members == Members({0, 1}, {0, 4}));
  CHECK(groups[3].name == "pp");
  CHECK(groups[3].members == Members({0, 2, 4, 6}, {0}));
  CHECK(groups[3].collectives() == std::vector{Collective::sendrecv});
  CHECK(groups[4].name == "world");
  CHECK(groups[4].members == Members::first(8, 8));
  // Of the gradients' norm.
  CHECK(groups[4].calls == std::vector{MemoryCall{Collective::all_reduce, {4}}});
}

TEST_CASE("memory: the report of a layout says on how many nodes") {
  MemoryConfig config;
  config.layout = load_step(FABRICAST_TEST_DATA "/../../scenarios/steps/llama-3-70b.yaml");
  static_cast<Job&>(config) = *config.layout;
  const MemoryResult result = run_memory(config, load_catalogue());
  CHECK(memory_report(result).job["site"]["nodes"] == Json({8}));
}

// The same ranks with hsdp over pairs: DP with CP, four ranks, are two copies of two shards.
TEST_CASE("memory: copies of a model are a communicator of their own") {
  StepConfig step = load_step(FABRICAST_TEST_DATA "/../../scenarios/steps/llama-3-70b.yaml");
  step.layout.gpus = 64;
  step.layout.sharding = Sharding::hsdp;
  step.layout.shard_group = 2;
  const std::vector<AskedGroup> groups = groups_of_layout(step, 8);
  REQUIRE(groups.size() == 6);
  CHECK(groups[2].name == "fsdp");
  CHECK(groups[2].members == Members({0}, {0, 4}));
  CHECK(groups[3].name == "copies");
  CHECK(groups[3].members == Members({0, 1}, {0}));
  CHECK(groups[3].collectives() == std::vector{Collective::all_reduce});
}

TEST_CASE("memory: kernels that move tokens themselves need no communicator of NCCL") {
  StepConfig step =
      load_step(FABRICAST_TEST_DATA "/../../scenarios/steps/deepseek-v3-experts.yaml");
  step.layout.gpus = 256;
  const auto has_experts = [&] {
    const std::vector<AskedGroup> groups = groups_of_layout(step, 8);
    return std::ranges::find(groups, "ep", &AskedGroup::name) != groups.end();
  };
  CHECK_FALSE(has_experts());
  step.ep_kernels.reset();
  step.framework = "megatron";
  CHECK(has_experts());
  step.framework = "megatron-bridge";  // ships DeepEP and HybridEP
  CHECK_FALSE(has_experts());
}

TEST_CASE("memory: a step counts what its communicators take") {
  const PartsCatalogue parts = load_catalogue();
  const ComputeCatalogue compute = load_compute();
  for (const char* name : {"llama-3-70b", "deepseek-v3-gb200"}) {
    CAPTURE(name);
    const StepConfig step =
        load_step(fmt::format("{}/../../scenarios/steps/{}.yaml", FABRICAST_TEST_DATA, name));
    MemoryConfig asked;
    static_cast<Job&>(asked) = step;
    asked.layout = step;
    const std::int64_t told = run_memory(asked, parts).cases.front().bytes(MemoryPlace::gpu);
    const Site site = load_site(step, parts);
    CollectiveTimes times = collectives_of(step, site, parts, CollectiveTimes::Estimate::bound);
    const StepConfig whole = sized(step, site.cluster);
    const MemoryPlan plan =
        step_memory({whole.model, whole.layout, load_frameworks().at(step.framework),
                     compute_of(compute, site.cluster)},
                    times);
    CHECK(plan.use.nccl == static_cast<double>(told));
  }
}

TEST_CASE("memory: a rank that is not there") {
  MemoryConfig asked = memory_question("dgx-h100", 1);
  asked.rank = 8;
  CHECK(error_text([&] { run_memory(asked, load_catalogue()); }) ==
        "--rank 8: the communicator has 8 ranks\nhint: they are numbered from 0");
}
