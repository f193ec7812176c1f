// Times of kernels in a job, and the factors that published steps put on them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_step_fits.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// Median error of products that microsoft/vidur measured, by kernels that were fitted to others.
double median_error(const GpuCompute& gpu, const std::string& name) {
  const std::string file = FABRICAST_TEST_DATA "/training/gemm-points.csv";
  const CsvTable table(read_text_file(file), file);
  std::vector<double> errors;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    if (row.text("gpu") != name || row.text("source") != "vidur") continue;
    const GemmShape shape{*row.positive("m"), *row.positive("n"), *row.positive("k"), 1, 2};
    const double measured = shape.flops() / (*row.positive("tflops") * 1e12);
    errors.push_back(std::abs(gemm_time(gpu, Precision::fp16, shape) / measured - 1));
  }
  REQUIRE(errors.size() > 50);
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}

GpuCompute alone(const std::string& part) {
  GpuCompute out = unfitted_compute().at(part);
  for (GemmRate& rate : out.gemm) rate.efficiency = 1;
  return out;
}

std::string error_of(const std::string& yaml) {
  return error_text([&] { parse_step_fits(yaml, "f.yaml"); });
}

}  // namespace

TEST_CASE("kernels: products of a source that no kernel was fitted to") {
  CHECK(median_error(alone("A100_SXM4_80"), "A100") < 0.12);
  CHECK(median_error(alone("H100_SXM5"), "H100") < 0.15);
}

TEST_CASE("kernels: large products reach most of the peak, small ones wait for bytes") {
  for (const char* part : {"A100_SXM4_80", "H100_SXM5", "B200_SXM"}) {
    CAPTURE(part);
    const GpuCompute gpu = alone(part);
    const GemmShape large{8192, 8192, 8192};
    const double share = large.flops() / gemm_time(gpu, Precision::bf16, large) / gpu.gemm[1].peak;
    CHECK(share > 0.55);
    CHECK(share < 1);
    // One token reads the weights: never faster than the memory.
    const double bytes = 12288.0 * 4608 * 2;
    CHECK(gemm_time(gpu, Precision::bf16, {1, 4608, 12288}) >
          bytes / static_cast<double>(gpu.memory_rate.bytes_per_s));
  }
}

TEST_CASE("kernels: cards whose tensor cores were cut keep them busy") {
  // Measured by torch.matmul: RTX 4090 160 TFLOP/s (zzc0721/torch-performance-test-data, issue 78),
  // RTX 5090 175 to 235 (issues 96, 124, 200), L40's sibling L20 95 % of its rate (issue 107).
  const GemmShape large{8192, 8192, 8192};
  struct Card {
    const char* part;
    double low, high;
  };
  for (const Card& card : {Card{"RTX_4090", 125e12, 165e12}, Card{"RTX_5090", 165e12, 235e12}}) {
    CAPTURE(card.part);
    const double rate = large.flops() / gemm_time(alone(card.part), Precision::bf16, large);
    CHECK(rate > card.low);
    CHECK(rate < card.high);
  }
}

TEST_CASE("kernels: a GPU without bf16 keeps in fp16 what stays in 16 bits") {
  const GpuCompute gpu = unfitted_compute().at("V100_SXM2_32");
  const GemmShape shape{4096, 4096, 4096};
  const double time = gemm_time(gpu, Precision::fp16, shape);
  CHECK(time == gemm_time(gpu, Precision::bf16, shape));
  CHECK(shape.flops() / time > 40e12);
  CHECK(shape.flops() / time < 125e12);
}

TEST_CASE("kernels: backward attention is a multiple of forward") {
  const GpuCompute gpu = unfitted_compute().at("H100_SXM5");
  const AttentionShape shape{2, 4096, 32, 8, 128, 128, false};
  CHECK(attention_time(gpu, shape, true) ==
        doctest::Approx(gpu.attention_backward * attention_time(gpu, shape, false)));
}

TEST_CASE("kernels: latent attention is that of the library with a kernel for it") {
  // Measured: 480 TFLOP/s by TensorRT-LLM on H100, 170 by SGLang.
  const GpuCompute gpu = unfitted_compute().at("H100_SXM5");
  AttentionShape shape{1, 4096, 64, 64, 192, 128, true};
  const double flops = 2 * (192.0 + 128) * 4096 * 4096 / 2 * 64;
  CHECK(flops / attention_time(gpu, shape, false) > 300e12);
  CHECK(flops / attention_time(gpu, shape, false) < 600e12);
}

TEST_CASE("kernels: every GPU has what its precisions need") {
  for (const auto& [gpu_name, gpu] : load_compute()) {
    const std::string name = gpu_name;
    CAPTURE(name);
    CHECK(std::max(gpu.gemm[0].peak, gpu.gemm[1].peak) > 5e13);
    CHECK(gpu.libraries.contains("trtllm"));
    CHECK(gpu.libraries.contains("sglang"));
    for (const GemmRate& rate : gpu.gemm) CHECK((rate.peak > 0) == (rate.efficiency > 0));
  }
}

TEST_CASE("step fits: factors are on times") {
  const GpuCompute gpu = unfitted_compute().at("H200_SXM");
  const StepFactors factors = {{"sm90 bf16", 1.25},         {"H200_SXM bf16", 0.8},
                               {"sm90 attention", 2},       {"sm90 experts", 4},
                               {"megatron elementwise", 3}, {"communication", 1.5}};
  const GpuCompute moved = with_factors(gpu, factors);
  CHECK(moved.gemm[1].efficiency == doctest::Approx(gpu.gemm[1].efficiency));  // 1.25 x 0.8
  CHECK(moved.gemm[2].efficiency == gpu.gemm[2].efficiency);                   // fp8
  CHECK(moved.attention_forward == doctest::Approx(gpu.attention_forward / 2));
  CHECK(moved.experts == doctest::Approx(gpu.experts / 4));
  const FrameworkCatalogue frameworks = unfitted_frameworks();
  const Framework& older = frameworks.at("megatron 25.04");
  CHECK(family_of(older) == "megatron");
  CHECK(with_factors(older, factors).elementwise == doctest::Approx(3 * older.elementwise));
  CHECK(with_factors(older, factors).communication == doctest::Approx(1.5));
  // fp16 counts as bf16; a framework of Ampere's attention has a factor of its own for it.
  std::vector<std::string> names;
  for (const StepFigure& figure :
       step_figures(gpu, frameworks.at("composer"), Precision::fp16, true))
    names.push_back(figure.name);
  CHECK(names == std::vector<std::string>{"sm90 bf16", "H200_SXM bf16", "sm90 attention",
                                          "composer elementwise", "communication",
                                          "composer attention", "sm90 experts"});
}

TEST_CASE("step fits: a file reads back as it was written") {
  StepFits fits;
  fits.all.factors = {{"sm90 bf16", 1.05}, {"megatron elementwise", 0.9}};
  fits.all.bands = {{0.9, 1.2, true, false, 12, 3}};
  fits.without["one"].factors = {{"sm90 bf16", 1.5}};
  const StepFits read = parse_step_fits(step_fits_yaml(fits), "f.yaml");
  CHECK(read.all.factors == fits.all.factors);
  CHECK(read.unseen("one").factors.at("sm90 bf16") == 1.5);
  CHECK(read.unseen("other").factors == fits.all.factors);
  const StepBand band = find_band(read.all, true, false);
  CHECK(band.low == 0.9);
  CHECK(band.basis() == "same framework and GPU generation: 12 steps of 3 sources");
  const GpuCompute gpu = unfitted_compute().at("H100_SXM5");
  const FrameworkCatalogue frameworks = unfitted_frameworks();
  CHECK(is_known(read.all, gpu, frameworks.at("megatron"), Precision::bf16));
  CHECK(!is_known(read.all, gpu, frameworks.at("megatron"), Precision::fp8));
  CHECK(!is_known(read.all, gpu, frameworks.at("maxtext"), Precision::bf16));
}

TEST_CASE("step fits: what is wrong with a file") {
  CHECK(error_of("kind: step_fits\nfactors: {a: 0}\n").find("factors.a") != std::string::npos);
  CHECK(error_of("kind: step_fits\nfactor: {a: 1}\n").find("factors") != std::string::npos);
  CHECK(error_of("kind: step_fits\nfactors: {}\nbands: [{low: 2}]\n").find("low") !=
        std::string::npos);
}

TEST_CASE("a GPU has as many multiprocessors to kernels as to thread blocks") {
  const PartsCatalogue parts = load_parts();
  int known = 0;
  for (const auto& compute : load_compute()) {
    const auto part = parts.gpus.find(compute.first);
    if (part == parts.gpus.end()) continue;  // a variant of one
    CAPTURE(compute.first);
    CHECK(part->second.multiprocessors == compute.second.multiprocessors);
    ++known;
  }
  CHECK(known >= 8);
}
