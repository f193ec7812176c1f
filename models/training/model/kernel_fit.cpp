#include "models/training/model/kernel_fit.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

constexpr int kRounds = 50;  // assignments settle in a few

/// Seconds at the peak and at the memory's full rate.
struct Bounds {
  double compute = 0, memory = 0;
};

Bounds bounds(const GpuCompute& gpu, Precision precision, const GemmShape& shape) {
  GpuCompute ideal = gpu;
  ideal.gemm[static_cast<std::size_t>(precision)].efficiency = 1;
  ideal.gemm_memory = 1;
  ideal.gemm_start = {};
  Bounds out;
  ideal.memory_rate = {std::int64_t{1} << 62};
  out.compute = gemm_time(ideal, precision, shape);
  ideal.memory_rate = gpu.memory_rate;
  ideal.gemm[static_cast<std::size_t>(precision)].peak = 1e30;
  out.memory = gemm_time(ideal, precision, shape);
  return out;
}

}  // namespace

GemmFit fit_gemm(const GpuCompute& gpu, Precision precision, const std::vector<GemmPoint>& points) {
  const auto count = static_cast<Eigen::Index>(points.size());
  std::vector<Bounds> ideal;
  for (const GemmPoint& point : points) ideal.push_back(bounds(gpu, precision, point.shape));
  // Unknowns: 1 / efficiency, 1 / memory, start in microseconds. Rows are divided by the measured
  // time, so that errors are relative.
  Eigen::Vector3d x(1.3, 1.2, 3.0);
  std::vector<bool> by_compute(points.size());
  for (int round = 0; round < kRounds; ++round) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(count, 3);
    bool changed = round == 0;
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool compute = x[0] * ideal[at].compute > x[1] * ideal[at].memory;
      changed = changed || compute != by_compute[at];
      by_compute[at] = compute;
      rows(i, compute ? 0 : 1) =
          (compute ? ideal[at].compute : ideal[at].memory) / points[at].seconds;
      rows(i, 2) = 1e-6 / points[at].seconds;
    }
    if (!changed) break;
    x = rows.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(count));
  }
  GemmFit out{1 / x[0], 1 / x[1], x[2] * 1e-6, 0, 0};
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double time = std::max(x[0] * ideal[i].compute, x[1] * ideal[i].memory) + out.start;
    errors.push_back(std::abs(time / points[i].seconds - 1));
    out.mean_error += errors.back() / static_cast<double>(points.size());
  }
  std::sort(errors.begin(), errors.end());
  out.median_error = errors[errors.size() / 2];
  return out;
}

}  // namespace fabricast
