#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "models/io/workloads/load_kernels.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/kernels/kernel_time.hpp"
#include "models/studies/kernels/kernel_fit.hpp"
#include "models/studies/kernels/validate_kernels.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const std::string kHeader = "gpu,backend,op,kernel,dtype,m,n,k,latency_us\n";

KernelRows rows_of(const std::string& lines) {
  return read_kernel_rows(fmt::format("{}{}", kHeader, lines), "k.csv", load_compute());
}

std::string error_of(const std::string& lines) {
  return error_text([&] { rows_of(lines); });
}

std::string catalogue_error(const std::string& yaml) {
  return error_text([&] { parse_kernels(yaml, "k.yaml"); });
}

}  // namespace

TEST_CASE("rows of kernels: shapes are equal whatever the GPU") {
  const KernelRows rows = rows_of(
      "H100_SXM5,trtllm,gemm,torch_flow,bfloat16,1,2,64,3\n"
      "GB200,trtllm,gemm,torch_flow,bfloat16,1,2,64,4\n"
      "GB200,trtllm,gemm,torch_flow,bfloat16,2,1,64,4\n"
      "GB200,trtllm,conv,torch_flow,bfloat16,2,1,64,4\n"
      "V100,trtllm,gemm,torch_flow,bfloat16,2,1,64,4\n");
  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[0].shape == rows.rows[1].shape);
  CHECK(rows.rows[1].shape != rows.rows[2].shape);
  CHECK(rows.rows[0].name.generation == 90);
  CHECK(to_text(rows.rows[1].name) == "sm100 trtllm torch_flow, bfloat16");
  CHECK(rows.left_out.at("op conv is not modelled") == 1);
  CHECK(rows.left_out.at("what a V100 computes is not known") == 1);
}

TEST_CASE("rows of kernels: products of few rows and gated delta nets are families of their own") {
  const KernelRows products = rows_of(
      "H100_SXM5,trtllm,gemm,torch_flow,bfloat16,16,2,64,3\n"
      "H100_SXM5,trtllm,gemm,torch_flow,bfloat16,17,2,64,3\n");
  REQUIRE(products.rows.size() == 2);
  CHECK(products.rows[0].name.family == KernelFamily::skinny);
  CHECK(products.rows[1].name.family == KernelFamily::gemm);
  const KernelRows rows = read_kernel_rows(
      "gpu,backend,op,kernel,batch_size,seq_len,k_heads,k_head_dim,v_heads,v_head_dim,latency_us\n"
      "H100_SXM5,vllm,gdn,chunk_gated_delta_rule_flashinfer,2,8192,8,128,16,128,387.5\n"
      "H100_SXM5,vllm,gdn,fused_recurrent_gated_delta_rule_packed_decode,32,1,8,128,16,128,19.4\n"
      "H100_SXM5,vllm,gdn,causal_conv1d_fn,32,1,8,128,16,128,2.4\n",
      "k.csv", load_compute());
  REQUIRE(rows.rows.size() == 2);
  CHECK(rows.rows[0].name.family == KernelFamily::delta_context);
  CHECK(std::get<DeltaWork>(rows.rows[0].work).chunks() == 128);
  CHECK(rows.rows[1].name.family == KernelFamily::delta_decode);
  // 32 x 16 states of 128 x 128 numbers of 4 bytes.
  CHECK(std::get<MoveWork>(rows.rows[1].work).written == 32.0 * 16 * 128 * 128 * 4);
  CHECK(rows.left_out.at("kernel causal_conv1d_fn is not modelled") == 1);
}

TEST_CASE("rows of kernels: SGLang's blocks on Blackwell were measured with scales to pack") {
  const KernelRows rows = rows_of(
      "B200_SXM,sglang,gemm,deepgemm,fp8_block,16,2048,512,15\n"
      "B200_SXM,trtllm,gemm,deepgemm,fp8_block,16,2048,512,5\n"
      "H100_SXM5,sglang,gemm,deepgemm,fp8_block,16,2048,512,5\n");
  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[0].name.dtype == "fp8_block, scales packed");
  CHECK(rows.rows[1].name.dtype == "fp8_block");
  CHECK(rows.rows[2].name.dtype == "fp8_block");
}

TEST_CASE("rows of kernels: what is wrong, and where") {
  CHECK(error_of("H100_SXM5,trtllm,gemm,t,bfloat16,0,2,64,3\n").find("k.csv:2") !=
        std::string::npos);
  CHECK(error_of("H100_SXM5,trtllm,gemm,t,bfloat61,1,2,64,3\n").find("\"bfloat16\"") !=
        std::string::npos);
  CHECK(error_of("H100_SXM5,trtllm,gemm,t,bfloat16,1,2,64,\n").find("latency_us is blank") !=
        std::string::npos);
}

TEST_CASE("a fit finds the costs that times were made of") {
  GemmCosts truth;
  truth.start = 4e-6, truth.share = 0.6, truth.memory = 0.7;
  KernelRows rows;
  const KernelGpu gpu = load_compute().at("H100_SXM5").kernels();
  for (const double m : {1.0, 16.0, 300.0, 4096.0}) {
    for (const double n : {512.0, 4096.0, 20480.0}) {
      for (const double k : {256.0, 5120.0, 16384.0}) {
        KernelRow row;
        row.gpu = gpu;
        row.name = {KernelFamily::gemm, 90, "trtllm", "t", "bfloat16"};
        GemmWork work;
        work.m = m, work.n = n, work.k = k;
        row.work = work;
        row.shape = rows.rows.size() + 1;
        row.time_us = 1e6 * kernel_time(gpu, work, truth);
        rows.rows.push_back(row);
      }
    }
  }
  std::vector<const KernelRow*> all;
  for (const KernelRow& row : rows.rows) all.push_back(&row);
  const GemmCosts found = std::get<GemmCosts>(fit_kernel(all));
  CHECK(found.start == doctest::Approx(truth.start).epsilon(0.05));
  CHECK(found.share == doctest::Approx(truth.share).epsilon(0.05));
  CHECK(found.memory == doctest::Approx(truth.memory).epsilon(0.05));

  ValidateKernelsConfig config;
  config.measured = rows;
  config.kernels = fit_kernels(all, in_turn);
  config.leave_out = config.fit = true;
  const ValidateKernelsResult result = run_validate_kernels(config, in_turn);
  REQUIRE(result.predictions.size() == 36);
  int shapes = 0;
  for (const KernelPrediction& one : result.predictions) {
    CHECK(one.measured);
    CHECK(one.time_us == doctest::Approx(rows.rows[one.row].time_us).epsilon(0.05));
    CHECK_FALSE(one.gpu_us);  // there is no other GPU
    if (!one.shape_us) continue;
    ++shapes;
    CHECK(*one.shape_us == doctest::Approx(rows.rows[one.row].time_us).epsilon(0.1));
  }
  CHECK(shapes == 0);  // without them there are fewer than kLeastRows
  // What is printed reads back as what was fitted.
  const KernelCatalogue back =
      parse_kernels(fmt::format("kind: kernels\n{}", result.fitted), "fit.yaml");
  REQUIRE(back.sets.size() == 1);
  CHECK(std::get<GemmCosts>(back.sets[0].costs).start ==
        doctest::Approx(found.start).epsilon(0.01));
}

TEST_CASE("kernels.yaml: what ships is read, and what is wrong is named") {
  const KernelCatalogue& shipped = load_kernels();
  CHECK(shipped.sets.size() > 100);
  CHECK(choose_costs(shipped, {KernelFamily::gemm, 90, "trtllm", "torch_flow", "bfloat16"})
            ->measured);
  const std::string set =
      "  - {gpus: sm100, library: a, kernel: b, dtype: fp8, rows: 30, start: 2 us, memory: 0.8, "
      "cache: 2}\n";
  CHECK(parse_kernels(fmt::format("kind: kernels\nscale:\n{}", set), "k.yaml").sets.size() == 1);
  CHECK(
      catalogue_error(fmt::format("kind: kernels\nscale:\n{}{}", set, set)).find("stands twice") !=
      std::string::npos);
  CHECK(catalogue_error("kind: kernels\nscale:\n  - {gpus: h100}\n").find("write one like sm90") !=
        std::string::npos);
  CHECK(catalogue_error("kind: kernels\nscale:\n  - {gpus: sm100, library: a, kernel: b, dtype: "
                        "fp8, rows: 30, start: 2 s, memory: 0.8, cache: 2}\n")
            .find("out of range") != std::string::npos);
  CHECK(catalogue_error("kind: kernels\ngem: []\n").find("gemm") != std::string::npos);
}

TEST_CASE(
    "kernels: TensorRT-LLM's products in fp8 start as those in bf16, what finds scales is apart") {
  // Each of its rows quantises with a scale that it finds: no row tells the two apart.
  const KernelCatalogue catalogue = load_kernels();
  int seen = 0;
  for (const KernelSet& set : catalogue.sets) {
    if (set.name.kernel != "torch_flow" || set.name.dtype != "fp8") continue;
    KernelName plain = set.name;
    plain.dtype = "bfloat16";
    const auto same =
        std::ranges::find(catalogue.sets, plain, [](const KernelSet& other) { return other.name; });
    REQUIRE(same != catalogue.sets.end());
    CAPTURE(to_text(set.name));
    CHECK(std::get<GemmCosts>(set.costs).start == std::get<GemmCosts>(same->costs).start);
    CHECK(std::get<GemmCosts>(set.costs).cast_start > 8e-6);
    ++seen;
  }
  CHECK(seen == 8);
}
