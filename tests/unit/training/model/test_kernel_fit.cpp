// Times of kernels: bounds, vectors, and the fit that workloads/gpus.yaml rests on.
#include <doctest/doctest.h>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/training/model/kernel_fit.hpp"

using namespace fabricast;

namespace {

std::vector<GemmPoint> measured(const std::string& gpu, const std::string& source) {
  const std::string file = FABRICAST_TEST_DATA "/training/gemm-points.csv";
  const CsvTable table(read_text_file(file), file);
  std::vector<GemmPoint> out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    if (row.text("gpu") != gpu || row.text("source") != source) continue;
    const GemmShape shape{*row.positive("m"), *row.positive("n"), *row.positive("k"), 1, 2};
    out.push_back({shape, shape.flops() / (*row.positive("tflops") * 1e12)});
  }
  return out;
}

}  // namespace

TEST_CASE("kernels: parameters of GEMMs are the fit to measured ones") {
  const ComputeCatalogue gpus = load_compute();
  const GpuCompute& a100 = gpus.at("A100_SXM4_80");
  const GemmFit fit = fit_gemm(a100, Precision::fp16, measured("A100", "vidur"));
  // Running jobs are slower than kernels that run alone (power): see the notes of `efficiency`.
  CHECK(fit.efficiency == doctest::Approx(0.799).epsilon(0.005));
  CHECK(a100.gemm[0].efficiency < fit.efficiency);
  CHECK(a100.gemm_memory == doctest::Approx(fit.memory).epsilon(0.01));
  CHECK(seconds(a100.gemm_start) == doctest::Approx(fit.start).epsilon(0.02));
  CHECK(fit.mean_error < 0.06);

  const GpuCompute& h100 = gpus.at("H100_SXM5");
  const GemmFit hopper = fit_gemm(h100, Precision::fp16, measured("H100", "vidur"));
  CHECK(h100.gemm_memory == doctest::Approx(hopper.memory).epsilon(0.01));
  CHECK(seconds(h100.gemm_start) == doctest::Approx(hopper.start).epsilon(0.02));
  CHECK(hopper.mean_error < 0.07);
  CHECK(hopper.efficiency == doctest::Approx(0.763).epsilon(0.005));
  CHECK(h100.gemm[0].efficiency < hopper.efficiency);
}

TEST_CASE("kernels: the fit finds what made the points") {
  GpuCompute gpu = load_compute().at("A100_SXM4_80");
  gpu.gemm[1].efficiency = 0.6;
  gpu.gemm_memory = 0.7;
  gpu.gemm_start = microseconds(9);
  std::vector<GemmPoint> points;
  for (const double m : {1.0, 16.0, 128.0, 1024.0, 4096.0}) {
    for (const double n : {1024.0, 5120.0, 8192.0}) {
      const GemmShape shape{m, n, 8192, 1, 2};
      points.push_back({shape, gemm_time(gpu, Precision::bf16, shape)});
    }
  }
  const GemmFit fit = fit_gemm(gpu, Precision::bf16, points);
  CHECK(fit.efficiency == doctest::Approx(0.6));
  CHECK(fit.memory == doctest::Approx(0.7));
  CHECK(fit.start == doctest::Approx(9e-6));
  CHECK(fit.mean_error < 1e-9);
}

TEST_CASE("kernels: a GEMM is bound by FLOPs or by bytes") {
  GpuCompute gpu = load_compute().at("A100_SXM4_80");
  gpu.gemm[0].efficiency = 1;
  gpu.gemm_memory = 1;
  gpu.gemm_start = {};
  // GPT-3 at TP 8, QKV of 2048 tokens: 743.4 us at the peak. 16 x 18 tiles of 128 x 256 are three
  // waves of 108 multiprocessors, of which 288 / 324 are used: 836.3 us.
  const GemmShape qkv{2048, 4608, 12288, 1, 2};
  CHECK(qkv.flops() == 231'928'233'984.0);
  CHECK(gemm_time(gpu, Precision::fp16, qkv) == doctest::Approx(836.3e-6).epsilon(1e-4));
  // One token reads the weights: 12288 x 4608 x 2 bytes at 2.04 TB/s.
  CHECK(gemm_time(gpu, Precision::fp16, {1, 4608, 12288, 1, 2}) ==
        doctest::Approx(12288.0 * 4608 * 2 / 2.04e12).epsilon(1e-3));
}

TEST_CASE("kernels: every GPU has what its precisions need") {
  for (const auto& [gpu_name, gpu] : load_compute()) {
    const std::string name = gpu_name;
    CAPTURE(name);
    CHECK(gpu.gemm[1].peak > 1e14);
    for (const GemmRate& rate : gpu.gemm) CHECK((rate.peak > 0) == (rate.efficiency > 0));
  }
  for (const auto& [framework_name, framework] : load_frameworks()) {
    const std::string name = framework_name;
    CAPTURE(name);
    const int parameters = (framework.elementwise != 1) + (framework.host_issue.ps > 0) +
                           (framework.attention != 1) + (framework.exchange_rate.bytes_per_s > 0);
    CHECK(parameters <= 3);
  }
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
