// Parameters and FLOPs against published numbers, and readers of model files.
#include <doctest/doctest.h>

#include "models/io/workloads/load_workloads.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

std::int64_t without_norms(const char* model) {
  const Transformer m = load_transformer(model);
  return all_parameters(m) - norm_parameters(m);
}

double gflop_per_token(const char* model, int sequence, AttentionCount count) {
  return 3e-9 * forward_flops_per_token(load_transformer(model), sequence, count);
}

}  // namespace

TEST_CASE("transformer: parameters of published models") {
  // Narayanan et al. 2021, equation 2, and Korthikanti et al. 2022, table 3.
  CHECK(all_parameters(load_transformer("gpt3-175b")) == 174'615'846'912);
  CHECK(all_parameters(gpt_175b()) == 174'615'846'912);
  CHECK(count_parameters(gpt_175b()).dense_layer() == 1'812'099'072);
  CHECK(all_parameters(gpt_22b()) == 22'074'273'792);
  CHECK(all_parameters(gpt_530b()) == 529'600'819'200);
  CHECK(all_parameters(gpt_1t()) == 1'008'038'758'400);
  // Files of the models on Hugging Face; sums of matrices where norms are not counted.
  CHECK(all_parameters(load_transformer("llama-3-8b")) == 8'030'261'248);
  CHECK(without_norms("llama-3-8b") == 8'029'995'008);
  CHECK(all_parameters(load_transformer("llama-2-7b")) == 6'738'415'616);
  CHECK(all_parameters(load_transformer("llama-2-13b")) == 13'015'864'320);
  CHECK(without_norms("llama-2-70b") == 68'975'329'280);
  CHECK(without_norms("llama-3-70b") == 70'552'387'584);
  CHECK(without_norms("llama-3-405b") == 405'849'243'648);
  CHECK(without_norms("mixtral-8x7b") == 46'702'526'464);
  CHECK(without_norms("qwen3-30b-a3b") == 30'531'911'680);
  CHECK(without_norms("qwen3-235b-a22b") == 235'092'836'352);
  CHECK(without_norms("deepseek-v3") == 671'025'397'760);
  CHECK(all_parameters(load_transformer("bloom-176b")) == 176'247'271'424);
  CHECK(all_parameters(load_transformer("opt-66b")) / 1'000'000'000 == 65);
  CHECK(all_parameters(load_transformer("opt-175b")) / 1'000'000'000 == 174);
}

// In billions, all and those of a token, as model cards and reports say: pictures and layers of
// multi-token prediction apart.
TEST_CASE("transformer: served models are as large as their cards say") {
  const auto is = [](const char* name, double all, double active) {
    CAPTURE(name);
    const Transformer model = load_transformer(name);
    CHECK(static_cast<double>(all_parameters(model)) * 1e-9 == doctest::Approx(all).epsilon(0.012));
    CHECK(static_cast<double>(active_parameters(model)) * 1e-9 ==
          doctest::Approx(active).epsilon(0.06));
  };
  is("qwen3-8b", 8.19, 8.19);
  is("qwen3-14b", 14.77, 14.77);
  is("qwen2.5-7b", 7.61, 7.61);
  is("qwen2.5-32b", 32.76, 32.76);
  is("qwen2.5-72b", 72.7, 72.7);
  is("mistral-7b", 7.25, 7.25);
  is("gpt-oss-20b", 20.9, 3.6 + 0.58);  // its card leaves the embedding out
  is("minimax-m2", 229, 10.5);
  is("glm-4.5", 355, 33);
  is("glm-4.5-air", 106, 13);
  is("qwen3-coder-480b-a35b", 480, 35);
  is("kimi-k2", 1026, 32.6);
  is("llama-4-scout", 108, 17);
  is("llama-4-maverick", 400.7, 17);
}

TEST_CASE("transformer: a token meets few of many experts") {
  // DeepSeek-V3: 37 B activated of 671 B; Qwen3-30B-A3B: 3.3 B; Mixtral: 12.9 B.
  const auto billions = [](const char* name) {
    return static_cast<double>(active_parameters(load_transformer(name))) * 1e-9;
  };
  CHECK(billions("deepseek-v3") == doctest::Approx(37.6).epsilon(0.01));
  CHECK(billions("qwen3-30b-a3b") == doctest::Approx(3.35).epsilon(0.01));
  CHECK(billions("mixtral-8x7b") == doctest::Approx(12.88).epsilon(0.01));
}

TEST_CASE("transformer: FLOPs per token, forward and backward") {
  const auto full = AttentionCount::full, causal = AttentionCount::causal;
  const auto near = [](double value) { return doctest::Approx(value).epsilon(2e-5); };
  CHECK(gflop_per_token("llama-3-8b", 8192, full) == near(57.913));
  CHECK(gflop_per_token("llama-3-8b", 8192, causal) == near(51.470));
  CHECK(gflop_per_token("llama-3-70b", 8192, full) == near(481.43));
  CHECK(gflop_per_token("llama-3-70b", 8192, causal) == near(449.22));
  CHECK(gflop_per_token("llama-3-405b", 8192, full) == near(2625.42));
  CHECK(gflop_per_token("llama-3-405b", 8192, causal) == near(2523.96));
  CHECK(gflop_per_token("gpt3-175b", 8192, full) == doctest::Approx(1163.4).epsilon(1e-4));
  CHECK(gflop_per_token("gpt3-175b", 8192, causal) == doctest::Approx(1105.4).epsilon(1e-4));
  CHECK(gflop_per_token("deepseek-v3", 4096, causal) == near(250.45));
  CHECK(gflop_per_token("qwen3-30b-a3b", 4096, causal) == doctest::Approx(23.08).epsilon(1e-3));
  CHECK(gflop_per_token("qwen3-235b-a22b", 4096, causal) == near(148.33));
}

TEST_CASE("transformer: FLOPs of a step") {
  const auto full = AttentionCount::full;
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-6); };
  const Transformer gpt3 = gpt_175b();
  const double model = model_flops(gpt3, 2048, 1536, full);
  CHECK(model == near(3.3861967e18));
  const double all = model + full_recompute_flops(gpt3, 2048, 1536, full);
  CHECK(all == near(4.5109708e18));
  // Narayanan et al. 2021: 1024 A100 at 138 TFLOP/s each.
  CHECK(all / 1024 / 138e12 == doctest::Approx(31.92).epsilon(1e-3));
  // Selective: 4 B L s^2 h.
  CHECK(selective_recompute_flops(gpt3, 2048, 64, full) ==
        near(4.0 * 64 * 96 * 2048 * 2048 * 12288));
  // Korthikanti et al. 2022, table 5: batch, seconds with selective recomputation, MFU.
  struct Row {
    Transformer model;
    int batch, gpus;
    double flops, seconds, mfu;
  };
  const Row rows[] = {{gpt_22b(), 4, 8, 1.143561e15, 1.10, 0.4165},
                      {gpt_175b(), 64, 64, 1.410915e17, 13.75, 0.5139},
                      {gpt_530b(), 280, 280, 1.852230e18, 37.83, 0.5605},
                      {gpt_1t(), 512, 512, 6.425876e18, 71.49, 0.5627}};
  for (const Row& row : rows) {
    const double flops = model_flops(row.model, 2048, row.batch, full);
    CHECK(flops == near(row.flops));
    CHECK(flops / row.seconds / row.gpus / 312e12 == doctest::Approx(row.mfu).epsilon(2e-4));
  }
}

TEST_CASE("transformer: every preset reads, and says who it is") {
  const std::vector<std::string> names = model_names();
  CHECK(names.size() >= 17);
  for (const std::string& name : names) {
    const Transformer m = load_transformer(name);
    CHECK(m.name == name);
    CHECK(all_parameters(m) > 1'000'000'000);
  }
}

TEST_CASE("transformer: mistakes in a model file") {
  const auto said = [](const std::string& text) {
    return error_text([&] { parse_transformer(text, "m.yaml"); });
  };
  const std::string good =
      "kind: model\nname: m\nlayers: 2\nhidden: 64\nffn: 128\nmlp: swiglu\nheads: 4\n"
      "vocabulary: 100\nnorm: rms\n";
  CHECK(said(good) == "no error");
  CHECK(said(good + "kv_heads: 3\n") == "m.yaml:10: kv_heads: 3 does not divide 4 heads");
  CHECK(said(good + "expert: {}\n") ==
        "m.yaml:10: unknown key \"expert\"\nhint: did you mean \"experts\"?");
  CHECK(said(good + "experts: {count: 4, per_token: 5, ffn: 8}\n") ==
        "m.yaml:10: experts.per_token: 5 of only 4 experts");
  std::string odd = good;
  odd.replace(odd.find("heads: 4"), 8, "heads: 3");
  CHECK(said(odd) ==
        "m.yaml:7: heads: 3 heads do not divide hidden 64\n"
        "hint: say head_dim where it is not hidden / heads");
  CHECK_THROWS_WITH(load_transformer("lama-3-8b"),
                    "unknown model \"lama-3-8b\"\nhint: did you mean \"llama-3-8b\"?");
  CHECK_THROWS_WITH(load_transformer("./none.yaml"), "./none.yaml: no such file");
}
