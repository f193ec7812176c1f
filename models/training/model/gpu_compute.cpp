#include "models/training/model/gpu_compute.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

const GemmRate& rate_of(const GpuCompute& gpu, Precision precision) {
  return gpu.gemm[static_cast<std::size_t>(precision)];
}

double memory_rate(const GpuCompute& gpu) {
  return static_cast<double>(gpu.memory_rate.bytes_per_s);
}

/// Tiles of a product that a multiprocessor takes at a time, and what an element costs in them:
/// smaller ones read their inputs more often.
struct Tile {
  double m = 0, n = 0, cost = 1;
};
constexpr Tile kTiles[] = {
    {256, 128, 1}, {128, 256, 1}, {128, 128, 1.05}, {64, 128, 1.15}, {64, 64, 1.3}};

/// Tiles come in waves of one per multiprocessor, and the last wave takes as long as a full one:
/// how much longer a GEMM takes than its FLOPs, with the tile that suits it best. Products of less
/// than half a wave are cut along K.
double wave_factor(const GpuCompute& gpu, const GemmShape& shape) {
  double best = 2;
  for (const Tile& tile : kTiles) {
    if (shape.m < tile.m || shape.n < tile.n) continue;
    const double tiles = std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) * shape.batch;
    if (2 * tiles <= gpu.multiprocessors) continue;
    const double computed =
        std::ceil(tiles / gpu.multiprocessors) * gpu.multiprocessors * tile.m * tile.n;
    best = std::min(best, tile.cost * computed / (shape.m * shape.n * shape.batch));
  }
  return best < 2 ? best : 1;
}

double gemm_bytes(Precision precision, const GemmShape& s) {
  return s.batch * (element_bytes(precision) * (s.m * s.k + s.k * s.n) + s.out_bytes * s.m * s.n);
}

}  // namespace

double element_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp16:
    case Precision::bf16:
      return 2;
    case Precision::fp8:
    case Precision::fp8_rows:
      return 1;
    case Precision::mxfp8:
      return 1 + 1.0 / 32;  // one scale byte for 32 elements
    case Precision::nvfp4:
      return 0.5 + 1.0 / 16;  // one scale byte for 16
  }
  return 2;
}

KernelGpu GpuCompute::kernels() const {
  const auto peak = [&](Precision p) { return gemm[static_cast<std::size_t>(p)].peak; };
  return {name,
          generation,
          multiprocessors,
          {peak(Precision::bf16), peak(Precision::fp8), peak(Precision::nvfp4)},
          static_cast<double>(memory_rate.bytes_per_s),
          static_cast<double>(cache.count)};
}

double gemm_time(const GpuCompute& gpu, Precision precision, const GemmShape& shape) {
  const GemmRate& rate = rate_of(gpu, precision);
  const double compute = wave_factor(gpu, shape) * shape.flops() / (rate.peak * rate.efficiency);
  const double move = gemm_bytes(precision, shape) / (gpu.gemm_memory * memory_rate(gpu));
  return std::max(compute, move) + seconds(gpu.gemm_start);
}

double grouped_gemm_time(const GpuCompute& gpu, Precision precision, const GemmShape& shape) {
  const GemmRate& rate = rate_of(gpu, precision);
  const double compute = shape.flops() / (rate.peak * rate.efficiency * gpu.grouped_efficiency);
  const double move = gemm_bytes(precision, shape) / (gpu.gemm_memory * memory_rate(gpu));
  return compute + move + seconds(gpu.gemm_start);
}

double elementwise_time(const GpuCompute& gpu, double bytes) {
  return std::max(bytes / (gpu.elementwise * memory_rate(gpu)), seconds(gpu.kernel_floor));
}

double attention_time(const GpuCompute& gpu, double flops, int sequence, bool backward) {
  const double peak = rate_of(gpu, Precision::bf16).peak;
  const double ramp = sequence / (sequence + gpu.attention_ramp);
  const double share = (backward ? gpu.attention_backward : gpu.attention_forward) * ramp;
  return (backward ? 2 : 1) * flops / (peak * share) + seconds(gpu.kernel_floor);
}

Duration to_duration(double time) { return {std::llround(time * 1e12)}; }

}  // namespace fabricast
