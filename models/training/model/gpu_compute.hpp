#pragma once
// What one GPU computes: rates and efficiencies, and the time of one kernel from its shape. One
// set of parameters per GPU type and precision; sources in workloads/gpus.yaml.

#include <array>
#include <map>
#include <string>

#include "models/kernels/kernel_gpu.hpp"
#include "models/training/model/layout.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// GEMMs of one precision.
struct GemmRate {
  double peak = 0;        ///< FLOP/s, dense: no structured sparsity; 0 = the GPU cannot
  double efficiency = 0;  ///< share of it that large shapes reach, power limit included
};

struct GpuCompute {
  std::string name;  ///< as in the parts catalogue
  Bytes memory;
  Bandwidth memory_rate;
  int multiprocessors = 0;
  int generation = 0;  ///< compute capability, 90 = 9.0; 10.3 counts as 10.0
  Bytes cache;         ///< L2
  std::array<GemmRate, kPrecisions> gemm;
  double gemm_memory = 0;         ///< share of memory_rate that a GEMM short of FLOPs reaches
  Duration gemm_start;            ///< per GEMM, whatever its shape
  double grouped_efficiency = 0;  ///< of grouped GEMMs, over `efficiency`; their bytes add
  double attention_forward = 0;   ///< share of the 16-bit peak, causal work counted
  double attention_backward = 0;  ///< the same, with backward counted as twice forward
  double attention_ampere = 0;    ///< share of both that kernels written for Ampere reach
  double attention_ramp = 0;      ///< tokens: sequences this long reach half of it
  double elementwise = 0;         ///< share of memory_rate that other kernels reach
  Duration kernel_floor;          ///< least time of any kernel

  /// Its data sheet, as kernels need it.
  KernelGpu kernels() const;
};

using ComputeCatalogue = std::map<std::string, GpuCompute>;

/// M x N x K, `batch` of them side by side.
struct GemmShape {
  double m = 0, n = 0, k = 0;
  double batch = 1;
  double out_bytes = 2;  ///< per element of M x N that is written (and read where it is added to)
  double flops() const { return 2 * m * n * k * batch; }
};

/// Seconds; the sum of a layer is rounded once.
double gemm_time(const GpuCompute& gpu, Precision precision, const GemmShape& shape);
/// One GEMM for each of `shape.batch` experts.
double grouped_gemm_time(const GpuCompute& gpu, Precision precision, const GemmShape& shape);
double elementwise_time(const GpuCompute& gpu, double bytes);
/// A fused kernel. `flops` of forward, what the mask hides left out.
double attention_time(const GpuCompute& gpu, double flops, int sequence, bool backward);

Duration to_duration(double seconds);
constexpr double seconds(Duration time) { return static_cast<double>(time.ps) * 1e-12; }

/// Bytes of one element of a GEMM's input.
double element_bytes(Precision precision);

}  // namespace fabricast
