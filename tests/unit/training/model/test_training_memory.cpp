// Layouts that go together or not, and memory per GPU against published figures.
#include <doctest/doctest.h>

#include "models/io/workloads/load_workloads.hpp"
#include "models/training/model/memory.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string complaint(const Transformer& model, const Layout& layout) {
  return error_text([&] { check_layout(model, layout); });
}

/// Activations of the first stage as Korthikanti et al. 2022 draw them in figure 1: layers and the
/// mask after the embedding, which they count for every micro-batch in flight.
double first_stage(const Transformer& model, Layout layout, bool sequence_parallel,
                   Recompute recompute) {
  layout.sequence_parallel = sequence_parallel;
  const MemoryRules rules{4, false, true};
  return activation_bytes(model, layout, recompute, rules, false) * layers_held(model, layout, 0) /
         kGiB;
}

}  // namespace

TEST_CASE("memory: activations of the first stage (Korthikanti et al. 2022, figure 1)") {
  struct Row {
    Transformer model;
    Layout layout;
    double none, sp, selective, both, full;
  };
  const Row rows[] = {
      {gpt_22b(), layout(8, 8, 1, 1, 4, 4), 59.25, 39.56, 29.25, 9.56, 4.5},
      {gpt_175b(), layout(64, 8, 8, 3, 1, 64), 66.84, 41.41, 37.78, 12.35, 5.81},
      {gpt_530b(), layout(280, 8, 35, 3, 1, 280), 114.02, 66.51, 70.59, 23.08, 10.86},
      {gpt_1t(), layout(512, 8, 64, 1, 1, 512), 131.25, 76.56, 81.25, 26.56, 12.5}};
  for (const Row& row : rows) {
    const auto near = [](double value) { return doctest::Approx(value).epsilon(0.001); };
    CHECK(first_stage(row.model, row.layout, false, Recompute::none) == near(row.none));
    CHECK(first_stage(row.model, row.layout, true, Recompute::none) == near(row.sp));
    CHECK(first_stage(row.model, row.layout, false, Recompute::selective) == near(row.selective));
    CHECK(first_stage(row.model, row.layout, true, Recompute::selective) == near(row.both));
    CHECK(first_stage(row.model, row.layout, false, Recompute::full) == near(row.full));
  }
}

TEST_CASE("memory: the schedule says how many micro-batches a stage holds") {
  // p = 8, v = 3: 31 chunks of 96 / 24 layers on the first stage.
  CHECK(layers_held(gpt_175b(), layout(64, 8, 8, 3, 1, 64), 0) == 31 * 4);
  CHECK(layers_held(gpt_175b(), layout(64, 8, 8, 1, 1, 64), 0) == 8 * 12);
  CHECK(layers_held(gpt_175b(), layout(64, 8, 8, 1, 1, 64), 7) == 12);
  CHECK(layers_held(gpt_175b(), layout(64, 8, 8, 1, 1, 3), 0) == 3 * 12);
  Layout all = layout(64, 8, 8, 1, 1, 64);
  all.schedule = Schedule::gpipe;
  CHECK(layers_held(gpt_175b(), all, 0) == 64 * 12);
}

TEST_CASE("memory: weights of layers on a GPU (Korthikanti et al. 2022, figure 1)") {
  // 18 bytes per parameter; the figure leaves out biases, norms and embeddings.
  const auto gib = [](const Transformer& m, const Layout& l) {
    const double h = m.hidden;
    const double counted = 12 * h * h * m.layers / l.pipeline / l.tensor;
    return counted * 18 / kGiB;
  };
  CHECK(gib(gpt_175b(), layout(64, 8, 8, 1, 1, 64)) == 45.5625);
  CHECK(gib(gpt_530b(), layout(280, 8, 35, 1, 1, 280)) == doctest::Approx(31.64).epsilon(1e-3));
  CHECK(gib(gpt_1t(), layout(512, 8, 64, 1, 1, 512)) == doctest::Approx(32.96).epsilon(1e-3));
  // A middle stage has these and its biases and norms.
  const auto local = local_parameters(gpt_175b(), layout(64, 8, 8, 1, 1, 64), 3);
  CHECK(local.all() - 2'717'908'992 == 12 * (9 * 12288 / 8 + 4 * 12288));
}

TEST_CASE("memory: optimizer state is cut over replicas") {
  const Transformer model = load_transformer("llama-3-8b");
  const auto states = [&](Sharding sharding, int gpus) {
    Layout l = layout(gpus, 1, 1, 1, 1, gpus);
    l.sharding = sharding;
    l.shard_group = sharding == Sharding::hsdp ? 8 : 0;
    return memory_use(model, l, Recompute::full, {}).states() /
           static_cast<double>(all_parameters(model));
  };
  CHECK(states(Sharding::none, 64) == doctest::Approx(18));
  CHECK(states(Sharding::zero1, 64) == doctest::Approx(6 + 12.0 / 64));
  CHECK(states(Sharding::zero2, 64) == doctest::Approx(2 + 16.0 / 64));
  CHECK(states(Sharding::zero3, 64) == doctest::Approx(18.0 / 64));
  CHECK(states(Sharding::fsdp, 64) == doctest::Approx(16.0 / 64));
  CHECK(states(Sharding::hsdp, 64) == doctest::Approx(16.0 / 8));
  // torchtitan, 8 to 128 GPUs: peak memory falls by 15.4 GiB, of which this is 14.0.
  const double saved = states(Sharding::fsdp, 8) - states(Sharding::fsdp, 128);
  CHECK(saved * 8.03e9 / kGiB == doctest::Approx(14.0).epsilon(0.01));
}

// torch.optim on a model in bf16: weight, gradient and two moments of 2 bytes, 8 in all.
// DeepSpeed's bf16 master weights are 2 bytes more; bf16 moments beside fp32 master weights save 4
// of 18.
TEST_CASE("memory: master weights and moments in bf16") {
  const Transformer model = load_transformer("llama-3-8b");
  const auto states = [&](Sharding sharding, MasterWeights master, OptimizerStates moments) {
    Layout l = layout(64, 1, 1, 1, 1, 64);
    l.sharding = sharding;
    l.master_weights = master;
    l.optimizer_states = moments;
    return memory_use(model, l, Recompute::full, {}).states() /
           static_cast<double>(all_parameters(model));
  };
  using enum Sharding;
  constexpr auto bf16 = OptimizerStates::bf16;
  CHECK(states(none, MasterWeights::none, bf16) == doctest::Approx(8));
  CHECK(states(none, MasterWeights::bf16, bf16) == doctest::Approx(10));
  CHECK(states(none, MasterWeights::fp32, bf16) == doctest::Approx(14));
  CHECK(states(none, MasterWeights::none, OptimizerStates::fp32) == doctest::Approx(12));
  CHECK(states(zero1, MasterWeights::bf16, bf16) == doctest::Approx(4 + 6.0 / 64));
  CHECK(states(zero2, MasterWeights::bf16, bf16) == doctest::Approx(2 + 8.0 / 64));
  CHECK(states(zero3, MasterWeights::bf16, bf16) == doctest::Approx(10.0 / 64));
  CHECK(states(fsdp, MasterWeights::none, bf16) == doctest::Approx(8.0 / 64));
  CHECK(states(fsdp, MasterWeights::bf16, bf16) == doctest::Approx(8.0 / 64));
}

TEST_CASE("memory: activations of a block with fused attention") {
  const Transformer model = load_transformer("llama-3-8b");
  Layout l = layout(8, 1, 1, 1, 1, 8);
  l.sequence = 8192;
  CHECK(activation_bytes(model, l, Recompute::none, {}, false) == 8192.0 * 139'392);
  CHECK(activation_bytes(model, l, Recompute::full, {}, false) == 8192.0 * 2 * 4096);
  CHECK(activation_bytes(model, l, Recompute::lean, {}, false) ==
        8192.0 * (139'392 - 2 * 2 * 4096 - 2 * 14336));
}

TEST_CASE("memory: the first recomputation that fits") {
  const Transformer model = load_transformer("llama-3-8b");
  Layout l = layout(8, 1, 1, 1, 1, 8);
  l.sequence = 8192;
  l.sharding = Sharding::fsdp;
  l.recompute = Recompute::automatic;
  const auto plan = [&](double gb) {
    return plan_memory(model, l, {}, Bytes{static_cast<std::int64_t>(gb * 1e9)});
  };
  CHECK(plan(80).recompute == Recompute::none);
  CHECK(plan(60).recompute == Recompute::lean);
  CHECK(plan(60).full_share == 0);
  CHECK(plan(40).recompute == Recompute::lean);
  CHECK(plan(40).full_share > 0);
  CHECK(plan(40).full_share < 1);
  CHECK(plan(40).fits);
  CHECK(plan(40).use.all() > 39e9);  // no more layers than it takes
  CHECK_FALSE(plan(20).fits);
  // What communicators take is missing to the rest.
  MemoryRules rules;
  rules.nccl = 20e9;
  const MemoryPlan beside = plan_memory(model, l, rules, Bytes{80'000'000'000});
  CHECK(beside.recompute == Recompute::lean);
  CHECK(beside.use.all() == doctest::Approx(plan(60).use.all() + 20e9));
  l.recompute = Recompute::none;
  CHECK_FALSE(plan(50).fits);
}

TEST_CASE("layout: chunks of the model, the ends get fewer layers") {
  Layout l = layout(512, 8, 8, 8, 1, 64);
  const std::vector<int> chunks = layers_of_chunks(load_transformer("llama-3-405b"), l);
  CHECK(chunks.size() == 64);
  CHECK(chunks.front() == 1);
  CHECK(chunks.back() == 1);
  CHECK(std::vector<int>(chunks.begin() + 1, chunks.end() - 1) == std::vector<int>(62, 2));
}

TEST_CASE("layout: layers of every chunk as asked for") {
  const Transformer gpt3 = gpt_175b();
  Layout l = layout(32, 8, 4, 1, 1, 32);
  l.stage_layers = {22, 26, 26, 22};
  CHECK(complaint(gpt3, l) == "no error");
  CHECK(layers_of_chunks(gpt3, l) == l.stage_layers);
  l.stage_layers = {22, 26, 26};
  CHECK(complaint(gpt3, l) == "stage_layers has 3 figures, PP 4 x VPP 1 makes 4 chunks");
  l.stage_layers = {22, 26, 26, 23};
  CHECK(complaint(gpt3, l) == "stage_layers adds up to 97 layers, the model has 96");
  l.stage_layers.clear();
  l.document = 4096;
  CHECK(complaint(gpt3, l) == "documents of 4096 tokens do not fit into sequences of 2048");
}

TEST_CASE("layout: what does not go together is said") {
  const Transformer gpt3 = gpt_175b();
  CHECK(complaint(gpt3, layout(64, 8, 8, 1, 1, 64)) == "no error");
  CHECK(complaint(gpt3, layout(60, 8, 8, 1, 1, 64)) ==
        "TP 8 x CP 1 x PP 8 = 64 GPUs do not divide 60\nhint: take a multiple of 64 GPUs");
  CHECK(complaint(gpt3, layout(128, 8, 8, 1, 1, 63)) ==
        "a global batch of 63 is no multiple of DP 2 x micro-batch 1\n"
        "hint: the nearest are 62 and 64");
  CHECK(complaint(gpt3, layout(10, 10, 1, 1, 1, 1)) == "TP 10 does not divide heads 96");
  CHECK(complaint(gpt3, layout(64, 8, 8, 3, 1, 12)) ==
        "the interleaved schedule takes 12 micro-batches in rounds of PP 8\n"
        "hint: change the global batch, or leave vpp away");
  CHECK(complaint(gpt3, layout(8, 8, 1, 2, 1, 8)) == "VPP 2 needs PP > 1");
  CHECK(complaint(gpt3, layout(128, 1, 128, 1, 1, 8)) ==
        "PP 128 x VPP 1 makes 128 chunks of 96 layers");
  Layout context = layout(32, 4, 1, 1, 1, 32);
  context.context = 4;
  context.context_exchange = ContextExchange::all_to_all;
  CHECK(complaint(load_transformer("llama-3-70b"), context) ==
        "TP x CP by all-to-all 16 does not divide key/value heads 8");
  context.context = 2;
  CHECK(complaint(load_transformer("llama-3-70b"), context) == "no error");
  context.context = 8;
  CHECK(complaint(load_transformer("deepseek-v3"), context) == "no error");
  Layout experts = layout(64, 8, 8, 1, 1, 64);
  experts.expert = 8;
  CHECK(complaint(gpt3, experts) == "gpt has no experts: EP 8 means nothing\nhint: leave ep away");
}
