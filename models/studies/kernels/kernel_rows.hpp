#pragma once
// Measured kernels, from CSV.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/kernels/kernel_catalogue.hpp"
#include "models/kernels/kernel_work.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

struct KernelRow {
  Place place;
  KernelGpu gpu;
  KernelName name;
  KernelWork work;
  std::uint64_t shape = 0;  ///< equal for equal shapes, whatever the GPU
  double time_us = 0;
};

struct KernelRows {
  std::vector<KernelRow> rows;
  std::map<std::string, int> left_out;  ///< by reason
};

/// The tables of ai-dynamo/aiconfigurator as CSV, one kernel a row: columns gpu, backend, op,
/// kernel, latency_us and those of the shape that docs/kernels.md lists by op. A row whose op is
/// not modelled or whose GPU `compute` does not know is left out and counted. Throws Error with
/// file, line and column.
KernelRows read_kernel_rows(const std::string& text, const std::string& file,
                            const ComputeCatalogue& compute);

}  // namespace fabricast
