// What software and adapters do to a step: kernels that are not fused, low-rank adapters, names.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/step.hpp"
#include "models/studies/training/validate_steps.hpp"
#include "models/training/layers/layer_times.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

/// A layer of one GPU: 2 sequences of 2048 tokens, 4096 wide.
LayerTime layer_of(const StepSetup& setup) {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-a100", 1, ""}, parts);
  CollectiveTimes collectives(cluster, parts.software, {});
  return layer_time(setup, false, collectives);
}

StepSetup setup(const char* framework) {
  StepSetup out;
  out.model = gpt(4, 4096, 32);
  out.layout = layout(1, 1, 1, 1, 2, 8);
  out.framework = load_frameworks().at(framework);
  out.gpu = load_compute().at("A100_SXM4_80");
  return out;
}

}  // namespace

TEST_CASE("step: without torch.compile kernels are not fused, and move twice the bytes and more") {
  const LayerTime fused = layer_of(setup("torchtitan")), eager = layer_of(setup("pytorch"));
  CHECK(eager.forward.gemm == fused.forward.gemm);
  CHECK(eager.forward.elementwise > 1.8 * fused.forward.elementwise);
  // 15 % of a step of Llama 3 8B on H100 (torchtitan, benchmarks of December 2024).
  CHECK(eager.forward.total() < 1.3 * fused.forward.total());
}

TEST_CASE("step: adapters read what goes into linear layers, and add to what comes out") {
  StepSetup s = setup("megatron");
  s.layout.trained = Trained::adapters;
  const LayerTime all = layer_of(s);
  s.layout.trained = Trained::attention_adapters;
  const LayerTime attention = layer_of(s);
  // Of the MLP: 4096 to 16384 and back, 4096 tokens of 2 bytes. Their two kernels are no starts of
  // others any more.
  const double in = 4096 + 16384, rows = 4096 * 2 * s.framework.elementwise;
  const double rate = s.gpu.elementwise * 2.04e12;
  CHECK(all.forward.elementwise - attention.forward.elementwise ==
        doctest::Approx(rows * (in + 2 * in) / rate));
  CHECK(all.backward.elementwise - attention.backward.elementwise ==
        doctest::Approx(rows * (3 * in + in) / rate - 2 * 2e-6));
  CHECK(all.forward.gemm == attention.forward.gemm);
  s.layout.trained = Trained::weights;
  CHECK(layer_of(s).forward.elementwise < attention.forward.elementwise);
}

TEST_CASE("step: what is trained is said by a word") {
  const auto trained = [](const std::string& more) {
    return parse_step(
               "kind: step\nmodel: llama-3-8b\ntopology: dgx-h100\nnodes: 1\n"
               "sequence: 2048\nmicro_batch: 1\nglobal_batch: 8\nprecision: bf16\n" +
                   more,
               "step.yaml")
        .layout.trained;
  };
  CHECK(trained("") == Trained::weights);
  CHECK(trained("train: all\n") == Trained::weights);
  CHECK(trained("train: adapters\n") == Trained::adapters);
  CHECK(trained("train: attention-adapters\n") == Trained::attention_adapters);
}

TEST_CASE("step: a GPU without figures is refused with those that have some") {
  const StepConfig config = parse_step(
      "kind: step\nmodel: llama-3-8b\ntopology: dgx-spark\nnodes: 1\nsequence: 2048\n"
      "micro_batch: 1\nglobal_batch: 1\nprecision: bf16\n",
      "step.yaml");
  const std::string error = error_text([&] { run_step(config, load_catalogue()); });
  CHECK(error.find("what a GB10 computes is not known") != std::string::npos);
  CHECK(error.find("A100_SXM4_80, ") != std::string::npos);
}

TEST_CASE("validate steps: names of software and GPUs that people publish") {
  const auto read = [](const char* framework, const char* gpu, const char* notes) {
    const StepCases cases = read_step_cases(
        fmt::format("case_id,mode,source_group,framework,dtype,gpu,gpu_mem_gb,gpus_per_node,gpus,"
                    "network,model,layers,hidden,ffn_hidden,ffn_type,heads,kv_heads,head_dim,vocab,"
                    "seq_len,experts,topk,moe_ffn,shared_ffn,dense_layers,tp,pp,vpp,cp,ep,etp,"
                    "sharding,micro_batch,global_batch,recompute,sequence_parallel,step_time_s,"
                    "notes\n"
                    "a,lora,own,{},bf16,{},,8,8,,m,32,4096,11008,swiglu,32,32,128,32000,2048,"
                    ",,,,,1,1,,,,,none,1,8,,,1.0,{}\n",
                    framework, gpu, notes),
        "c.csv", load_frameworks());
    REQUIRE(cases.cases.size() == 1);
    return cases.cases.front();
  };
  CHECK(read("torchtitan", "H100", "eager").config.framework == "pytorch");
  CHECK(read("torchtitan", "H100", "torch.compile").config.framework == "torchtitan");
  CHECK(read("DeepSpeed ZeRO-3", "A100", "").config.framework == "pytorch");
  CHECK(read("LLaMA-Factory", "A100", "").config.framework == "pytorch");
  CHECK(read("LLaMA-Factory", "A100", "").note.empty());
  CHECK(!read("Own", "A100", "").note.empty());
  CHECK(read("NeMo (24.03)", "H100", "").config.framework == "megatron 24.03");
  CHECK(read("TRL", "RTX 4090", "").config.title == "RTX_4090");
  CHECK(read("TRL", "L40S", "").config.topology == "pcie-8");
  // Adapters of MLPerf and of NVIDIA's recipes are beside attention alone.
  CHECK(read("TRL", "A100", "").config.layout.trained == Trained::adapters);
  CHECK(read("MLPerf v5.1 NVIDIA", "B200", "").config.layout.trained ==
        Trained::attention_adapters);
}
