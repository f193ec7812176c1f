#pragma once
// What one GPU computes: rates and efficiencies, and the time of one kernel from its shape. One
// set of parameters per GPU type and precision; sources in workloads/gpus.yaml.

#include <array>
#include <map>
#include <string>

#include "models/kernels/gpu_kernels.hpp"
#include "models/training/model/layout.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// GEMMs of one precision.
struct GemmRate {
  double peak = 0;        ///< FLOP/s, dense: no structured sparsity; 0 = the GPU cannot
  double efficiency = 0;  ///< of kernels in a running job over those that were measured one by one
};

struct GpuCompute {
  std::string name;  ///< as in the parts catalogue
  Bytes memory;
  Bandwidth memory_rate;
  int multiprocessors = 0;
  int generation = 0;       ///< compute capability, 90 = 9.0; 10.3 counts as 10.0
  Bytes cache;              ///< L2
  double tensor_share = 1;  ///< as KernelGpu has it
  std::array<GemmRate, kPrecisions> gemm;
  double attention_forward = 0;   ///< as `efficiency` of GEMMs
  double attention_backward = 0;  ///< times that forward takes
  double attention_ampere = 0;    ///< share of the rate that kernels written for Ampere reach
  double experts = 1;             ///< of products of many experts, over `efficiency`
  double elementwise = 0;         ///< share of memory_rate that other kernels reach
  Duration kernel_floor;          ///< start and end of a kernel
  /// Measured kernels by library (workloads/kernels.yaml).
  KernelLibraries libraries;

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

/// Causal attention of whole sequences in 16 bits, as one GPU has it.
struct AttentionShape {
  double sequences = 1, tokens = 1;
  double heads = 1, kv_heads = 1, key_dim = 128, value_dim = 128;
  bool latent = false;  ///< queries and keys of multi-head latent attention
};

// Seconds of kernels in a running job; the sum of a layer is rounded once.
double gemm_time(const GpuCompute& gpu, Precision precision, const GemmShape& shape);
double elementwise_time(const GpuCompute& gpu, double bytes);
/// A fused kernel.
double attention_time(const GpuCompute& gpu, const AttentionShape& shape, bool backward);

Duration to_duration(double seconds);
constexpr double seconds(Duration time) { return static_cast<double>(time.ps) * 1e-12; }

/// Bytes of one element of a GEMM's input.
double element_bytes(Precision precision);

}  // namespace fabricast
