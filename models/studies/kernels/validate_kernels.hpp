#pragma once
// The study behind `fabricast validate kernels`: kernels that somebody measured, and what is
// predicted for them. Config, code, result and text.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/kernels/kernel_rows.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

struct ValidateKernelsConfig {
  KernelRows measured;
  KernelCatalogue kernels;
  bool leave_out = false;  ///< predict by fits that have not seen the shape, or the GPU, too
  bool fit = false;        ///< and say what a fit to all rows gives
};

struct KernelPrediction {
  std::size_t row = 0;  ///< of the measured ones
  double time_us = 0;
  bool measured = false;           ///< by a set of that name; else by its relatives
  std::optional<double> shape_us;  ///< by a fit that has not seen the shape: one shape of five
  std::optional<double> gpu_us;    ///< by a fit that has not seen the GPU
};

struct ValidateKernelsResult {
  ValidateKernelsConfig config;
  std::vector<KernelPrediction> predictions;  ///< of rows whose family has their dtype
  std::map<std::string, int> left_out;        ///< by reason
  std::string fitted;                         ///< with `fit`: families of workloads/kernels.yaml
};

ValidateKernelsResult run_validate_kernels(ValidateKernelsConfig config, const ForEach& for_each);

std::string validate_kernels_text(const ValidateKernelsResult& result);
Report validate_kernels_report(const ValidateKernelsResult& result);

}  // namespace fabricast
