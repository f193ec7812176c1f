#pragma once
// From measured GEMMs to the three parameters that gemm_time() knows: robust least squares of
// relative errors.

#include <vector>

#include "models/training/model/gpu_compute.hpp"

namespace fabricast {

struct GemmPoint {
  GemmShape shape;
  double seconds = 0;
};

struct GemmFit {
  double efficiency = 0;  ///< of the peak, where FLOPs bind
  double memory = 0;      ///< of the memory's rate, where bytes bind
  double start = 0;       ///< seconds
  double mean_error = 0;  ///< of the times, relative
  double median_error = 0;
};

/// `gpu` gives peak and rate of memory. Each point is bound by FLOPs or by bytes, whichever the
/// parameters found so far say is slower; repeated until no point changes sides.
/// REQUIRES: points of both kinds.
GemmFit fit_gemm(const GpuCompute& gpu, Precision precision, const std::vector<GemmPoint>& points);

}  // namespace fabricast
