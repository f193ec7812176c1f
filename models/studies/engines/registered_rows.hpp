#pragma once
// Measured times of NCCL's symmetric kernels, from CSV.

#include <string>
#include <vector>

#include "models/nccl/registered/symmetric_kernel.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// One call, timed among others that follow each other.
struct RegisteredRow {
  Place place;
  SymmetricKernel kernel{};
  std::string topology;  ///< what it is simulated on
  int gpus = 0;
  Bytes size;      ///< of the larger buffer
  int blocks = 0;  ///< thread blocks; 0: as many as NCCL's cost model takes
  double time_us = 0;
};

/// Columns kernel (AllReduce_AGxLL_R), topology, gpus, bytes (of the larger buffer), time_us, and
/// blocks, which may be missing or blank. Throws Error with file and line.
std::vector<RegisteredRow> read_registered_rows(const std::string& text, const std::string& file);

}  // namespace fabricast
