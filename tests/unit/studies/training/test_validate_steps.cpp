// What is read of published steps, and what is left out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/training_reports.hpp"
#include "models/studies/training/validate_steps.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

TEST_CASE("validate steps: rows that are not known are left out, with a reason") {
  const std::string header =
      "case_id,mode,source_group,framework,precision,dtype,gpu,gpu_mem_gb,gpus_per_node,gpus,"
      "network,model,layers,hidden,ffn_hidden,ffn_type,heads,kv_heads,head_dim,vocab,seq_len,"
      "experts,topk,moe_ffn,shared_ffn,dense_layers,tp,pp,vpp,cp,ep,etp,sharding,micro_batch,"
      "global_batch,recompute,sequence_parallel,step_time_s\n";
  const auto row = [](const char* mode, const char* gpu, const char* framework) {
    return std::string("a,") + mode + ",g," + framework + ",bf16,bf16," + gpu +
           ",80,8,8,,m,4,1024,4096,gelu,16,16,64,51200,2048,,,,,,8,1,,1,,,zero1,1,8,none,,1.0\n";
  };
  const auto why = [&](const std::string& text) {
    const StepCases cases = read_step_cases(header + text, "c.csv", load_frameworks());
    return cases.left_out.empty() ? std::string() : cases.left_out.front().why;
  };
  CHECK(why(row("pretrain", "H100", "NeMo")).empty());
  CHECK(why(row("decode", "H100", "NeMo")).empty());
  CHECK(why(row("distill", "H100", "NeMo")) == "mode distill is not modelled");
  CHECK(why(row("pretrain", "MI300", "NeMo")) == "GPU MI300 is not known");
  const auto with = [&](std::string_view cells, std::string_view others) {
    std::string text = row("pretrain", "H100", "NeMo");
    return text.replace(text.find(cells), cells.size(), others);
  };
  CHECK(why(with(",1.0\n", ",0\n")) == "no step time");
  CHECK(why(with("zero1", "hsdp(group=x)")) ==
        "sharding \"hsdp(group=x)\" names no size of a group");
  for (const char* cells : {",0,16,64,51200", ",16,0,64,51200", ",16,16,64,0"})
    CHECK_THROWS_AS(why(with(",16,16,64,51200", cells)), Error);
  CHECK_THROWS_AS(why(with(",80,8,8,", ",80,0,8,")), Error);
  // Software that is not known is said to be so.
  const auto framework = [&](const char* name) {
    const std::string text = header + row("pretrain", "H100", name);
    return read_step_cases(text, "c.csv", load_frameworks()).cases.front().config.framework;
  };
  CHECK(framework("Own") == "unknown");
  CHECK(framework("Megatron-Bridge 26.03") == "megatron-bridge 26.02.01");
  CHECK(framework("Megatron-Bridge 24.01") == "megatron-bridge 25.09");
  CHECK(framework("NeMo (Llama 3.1 70b 24.09 BF16 ; v24.11.1)") == "megatron 24.09");
  CHECK(framework("NeMo (24.x)") == "megatron 24.09");
  CHECK(framework("Megatron-Bridge") == "megatron-bridge");
  CHECK(framework("MLPerf v5.1 NVIDIA NeMo Framework Release 25.09") == "mlperf 5.1");
  CHECK(framework("MLPerf v4.0 NVIDIA NeMo Framework") == "mlperf 4.0");
  CHECK(framework("nanotron 0.5") == "nanotron");
  // Megatron-LM is another one since 2023.
  const auto dated = [&](const char* date) {
    const std::string text =
        fmt::format("date,{}{},{}", header, date, row("pretrain", "H100", "Megatron-LM"));
    return read_step_cases(text, "c.csv", load_frameworks()).cases.front();
  };
  CHECK(dated("2022-05").config.framework == "megatron-2021");
  CHECK(dated("2022-05").note.empty());
  CHECK(dated("2024-07").config.framework == "megatron");
  CHECK(dated("").config.framework == "megatron-2021");
  CHECK(dated("").note == "framework \"Megatron-LM\" without a date: taken for megatron-2021");

  const StepCases cases =
      read_step_cases(header + row("pretrain", "H100", "NeMo 25"), "c.csv", load_frameworks());
  const StepValidation v = validate_steps(cases, load_catalogue(), load_step_fits());
  REQUIRE(v.rows.size() == 1);
  CHECK(v.rows[0].predicted > 0);
  CHECK(report_csv(validation_report(v))
            .starts_with("case_id,measured_s,predicted_s,lower_s,upper_s,"));
}

TEST_CASE("validate steps: MLPerf's logs without a layout are cut as NVIDIA's configurations cut") {
  const auto read = [](const char* framework, const char* gpu, int gpus, const char* cp, int batch,
                       const char* notes) {
    return read_step_cases(
        fmt::format("case_id,mode,source_group,framework,precision,dtype,gpu,gpu_mem_gb,"
                    "gpus_per_node,gpus,network,model,layers,hidden,ffn_hidden,ffn_type,heads,"
                    "kv_heads,head_dim,vocab,seq_len,experts,topk,moe_ffn,shared_ffn,dense_layers,"
                    "tp,pp,vpp,cp,ep,etp,sharding,micro_batch,global_batch,recompute,"
                    "sequence_parallel,step_time_s,notes\n"
                    "a,lora,mlperf,{},fp8,fp8,{},,8,{},,m,80,8192,28672,swiglu,64,8,128,32000,8192,"
                    ",,,,,,,,{},1,,,,{},,,1.0,{}\n",
                    framework, gpu, gpus, cp, batch, notes),
        "c.csv", load_frameworks());
  };
  const auto layout = [&](const char* gpu, int gpus, const char* cp, int batch, int steps) {
    const std::string notes = fmt::format("grad accum {}.0", steps);
    const StepCases cases = read("MLPerf v5.1 NVIDIA", gpu, gpus, cp, batch, notes.c_str());
    REQUIRE(cases.cases.size() == 1);
    CHECK(cases.cases[0].note.starts_with("tp is blank"));
    return cases.cases[0].config.layout;
  };
  // 32 GPUs, 8 sequences in two steps: 4 copies of 8 GPUs.
  const Layout hopper = layout("H100", 32, "", 8, 2);
  CHECK(hopper.tensor == 4);
  CHECK(hopper.context == 2);
  CHECK(hopper.micro_batch == 1);
  CHECK(hopper.sharding == Sharding::zero1);
  const Layout blackwell = layout("GB200", 72, "", 9, 1);
  CHECK(blackwell.tensor == 1);
  CHECK(blackwell.context == 8);
  CHECK(layout("H200", 32, "4", 8, 1).tensor == 1);  // what is said counts
  CHECK(layout("B200", 8, "", 16, 1).micro_batch == 2);
  CHECK(read("MLPerf v5.1 NVIDIA", "H100", 8, "", 8, "").left_out.front().why == "tp is blank");
  CHECK(read("NeMo", "H100", 8, "", 8, "grad accum 4.0").left_out.front().why == "tp is blank");
}
