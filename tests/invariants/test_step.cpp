// A step's collectives are those that `bench --split` shows: on the same GPUs, of the same groups,
// all at the same time, with the same NICs.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/plan.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "tests/invariants/cases.hpp"
#include "tests/unit/training/training_cases.hpp"

namespace fabricast::testing {
namespace {

constexpr NcclVersion kReleases[] = {kNccl2_21_5, kNccl2_27_7, kDefaultNccl};
constexpr int kBlackwell = 100;  // sm: no kernels before 2.25

int power_of_two(Dice& random, int most) {
  int exponents = 0;
  while (2 << exponents <= most) ++exponents;
  return 1 << random.pick(0, exponents);
}

bool is_power_of_two(std::size_t number) { return number > 0 && (number & (number - 1)) == 0; }

/// TP, CP, PP and EP on so many GPUs, in any order.
Layout drawn_layout(Dice& random, int gpus) {
  Layout out;
  out.gpus = gpus;
  out.tensor = power_of_two(random, gpus);
  out.context = power_of_two(random, gpus / out.tensor);
  out.pipeline = power_of_two(random, gpus / out.tensor / out.context);
  out.expert_tensor = random.pick(0, 1) == 1 ? out.tensor : 1;
  out.expert = power_of_two(random, gpus / out.pipeline / out.expert_tensor);
  const char* const orders[] = {"tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-pp-dp-cp"};
  out.order = parse_order(random.of(orders));
  return out;
}

/// All but some of the NICs.
std::string drawn_hcas(Dice& random, const NodeGraph& node) {
  std::string out;
  const auto nics = std::ssize(node.nics());
  const auto kept = random.pick(1, nics);
  for (std::int64_t i = 0; i < nics; ++i) {
    if (random.pick(1, nics) > kept && !(out.empty() && i + 1 == nics)) continue;
    out += (out.empty() ? "=" : ",") + node.nics()[static_cast<std::size_t>(i)].name;
  }
  return out;
}

/// A job on a preset, with the collectives of its steps.
struct DrawnJob {
  StepConfig config;
  std::optional<Site> site;
};

/// Nothing where ranks are no power of two, which no mask divides.
std::optional<DrawnJob> drawn_job(Dice& random, bool few_nics) {
  DrawnJob out;
  StepConfig& config = out.config;
  config.topology = random.of(preset_names());
  config.nodes = 1 << random.pick(0, 3);
  Cluster one = load_cluster({config.topology, 1, ""}, shipped_parts());
  if (one.node().nics().empty()) config.nodes = 1;
  const bool blackwell = one.node().gpus().front().part.sm >= kBlackwell;
  config.version = kReleases[random.pick(blackwell ? 1 : 0, 2)];
  if (few_nics && !one.node().nics().empty())
    config.environment.set("NCCL_IB_HCA", drawn_hcas(random, one.node()));
  out.site.emplace(load_site(config, shipped_parts()));
  const std::size_t gpus = out.site->cluster.node().gpus().size();
  if (!is_power_of_two(gpus) ||
      !is_power_of_two(static_cast<std::size_t>(out.site->cluster.nodes())))
    return std::nullopt;
  config = sized(config, out.site->cluster);
  config.layout = drawn_layout(random, config.layout.gpus);
  return out;
}

/// What a step asks of a group, as `bench --split` asks it: colours are what ranks of the group
/// have in common.
BenchConfig split_bench(const StepConfig& config, const RankGroup& group, Collective collective,
                        std::int64_t bytes) {
  BenchConfig out = bench_of(config.topology, config.nodes, {{bytes}}, config.version);
  out.environment = config.environment;
  out.collectives = {collective};
  out.datatype = "half";
  out.one_shot = true;  // as calls of a step come, not in a row
  const int inside = (group.size - 1) * group.stride + (group.outer - 1) * group.outer_stride;
  out.split = Split{Split::Operation::bit_and,
                    static_cast<std::uint64_t>((config.layout.gpus - 1) & ~inside), "&"};
  return out;
}

struct Asked {
  const char* what;
  RankGroup group;
  Collective collective{};
};

Asked drawn_question(Dice& random, const Layout& l) {
  const Collective among[] = {Collective::all_gather, Collective::reduce_scatter,
                              Collective::all_reduce, Collective::alltoall};
  switch (random.pick(0, 5)) {
    case 0:
      return {"TP", tensor_group(l), random.of(among)};
    case 1:
      return {"CP", context_group(l), random.of(among)};
    case 2:
      return {"EP", expert_group(l), random.of(among)};
    case 3:
      return {"DP of experts", expert_data_group(l), random.of(among)};
    case 4:
      if (l.pipeline == 2) return {"PP", stage_pair(l), Collective::sendrecv};
      if (l.context == 2) return {"CP ring", context_pair(l), Collective::sendrecv};
      break;
    default:
      break;
  }
  return {"DP", dense_data_group(l), random.of(among)};
}

/// Checks one drawn question; false where there is none.
bool check_one(Dice& random, bool few_nics) {
  const std::optional<DrawnJob> job = drawn_job(random, few_nics);
  if (!job) return false;
  const StepConfig& config = job->config;
  const Asked asked = drawn_question(random, config.layout);
  if (asked.group.ranks() == 1) return false;
  const std::int64_t bytes = std::int64_t{1} << random.pick(14, 28);
  const std::string hcas(config.environment.get("NCCL_IB_HCA").value_or("all"));
  CAPTURE(config.topology);
  CAPTURE(config.nodes);
  CAPTURE(to_text(config.version));
  CAPTURE(hcas);
  CAPTURE(layout_line(config.layout));
  CAPTURE(asked.what);
  CAPTURE(to_text(asked.collective));
  CAPTURE(bytes);
  CollectiveTimes times =
      collectives_of(config, *job->site, shipped_parts(), CollectiveTimes::Estimate::simulated);
  const Duration in_step =
      times.cost(asked.collective, asked.group, static_cast<double>(bytes)).time;
  const BenchResult bench =
      run_bench(split_bench(config, asked.group, asked.collective, bytes), shipped_parts());
  CHECK(in_step == bench.blocks.front().rows.front().result.time);
  return true;
}

TEST_CASE("a step's collectives take what bench --split --one-shot says of the same groups") {
  Dice random(20);
  int seen = 0;
  for (int i = 0; i < random_cases(150); ++i) seen += check_one(random, i % 2 == 0) ? 1 : 0;
  CHECK(seen >= random_cases(150) / 2);
}

/// A copy of a preset's file with only some of its NICs.
std::string node_file(const std::string& preset, const std::vector<std::string>& nics) {
  std::ifstream in(fmt::format("{}/../../topologies/{}.yaml", FABRICAST_TEST_DATA, preset));
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("fabricast-{}-{}-nics.yaml", preset, nics.size());
  std::ofstream out(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t name = line.find("name: mlx5_");
    const bool is_nic = line.find("{nic: ") != std::string::npos && name != std::string::npos;
    const std::string own =
        is_nic ? line.substr(name + 6, line.find(',', name) - name - 6) : std::string();
    if (!is_nic || std::ranges::find(nics, own) != nics.end()) out << line << '\n';
  }
  return path.string();
}

TEST_CASE("NICs that a node has not, that nics= leaves out or that NCCL_IB_HCA does are one step") {
  Dice random(21);
  for (const int tensor : {1, 2, 8}) {
    StepConfig config;
    config.model = test::gpt(4, 4096, 32);
    config.topology = "dgx-h100";
    config.nodes = 1 << random.pick(1, 3);
    config.layout = test::layout(8 * config.nodes, tensor, 1, 1, 1, 8 * config.nodes);
    config.layout.precision = Precision::bf16;
    config.layout.sharding = Sharding::zero1;
    Duration before{INT64_MAX};
    for (const char* count : {"1", "2", "4", "8"}) {
      CAPTURE(tensor);
      CAPTURE(config.nodes);
      CAPTURE(count);
      const StepConfig by_count =
          vary({{"", config}}, fmt::format("nics={}", count)).front().config;
      const StepResult some = run_step(by_count, shipped_parts());
      std::vector<std::string> nics;
      for (const NicInfo& nic :
           load_cluster({by_count.topology, 1, ""}, shipped_parts()).node().nics())
        nics.push_back(nic.name);
      REQUIRE(std::to_string(nics.size()) == count);
      StepConfig by_file = config;
      by_file.topology = node_file(config.topology, nics);
      CHECK(run_step(by_file, shipped_parts()).step.time == some.step.time);
      StepConfig by_name = config;
      by_name.environment.set("NCCL_IB_HCA", fmt::format("{}", fmt::join(nics, ":1,")) + ":1");
      CHECK(run_step(by_name, shipped_parts()).step.time == some.step.time);
      CHECK(some.step.time <= before);
      before = some.step.time;
    }
  }
}

TEST_CASE("the parts of a step are none below 0, and add up to it") {
  Dice random(22);
  for (int i = 0; i < random_cases(40); ++i) {
    const std::optional<DrawnJob> job = drawn_job(random, false);
    if (!job) continue;
    StepConfig config = job->config;
    config.model = test::gpt(8, 2048, 16);
    const Layout drawn = config.layout;
    config.layout = test::layout(drawn.gpus, drawn.tensor, drawn.pipeline, 1, 1, 2 * drawn.gpus);
    config.layout.context = drawn.context;
    config.layout.order = drawn.order;
    config.layout.precision = Precision::bf16;
    CAPTURE(config.topology);
    CAPTURE(layout_line(config.layout));
    std::optional<StepResult> result;
    try {
      result = run_step(config, shipped_parts());
    } catch (const Error&) {
      continue;  // the layout does not go together
    }
    const StepBreakdown& parts = result->step.breakdown;
    const PassTime& busy = parts.busy;
    for (const double part : {busy.gemm, busy.attention, busy.elementwise, busy.host, busy.tensor,
                              busy.context, busy.expert, busy.contention, seconds(parts.pipeline),
                              seconds(parts.data), seconds(parts.optimizer)})
      CHECK(part >= 0);
    const double sum = busy.total() + seconds(parts.pipeline + parts.data + parts.optimizer);
    CHECK(sum == doctest::Approx(seconds(result->step.time)).epsilon(1e-6));
  }
}

}  // namespace
}  // namespace fabricast::testing
