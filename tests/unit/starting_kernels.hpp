#pragma once
// Kernels of experts that cost nothing but their start.

#include "models/experts/kernel_costs.hpp"

namespace fabricast::testing {

/// `start`: there, and back as much; on every kind of GPU.
inline ExpertKernels starting_kernels(Duration start) {
  ExpertKernels out;
  ModeCosts costs;
  for (PhaseCosts& phase : costs.phases) phase.start = start;
  for (auto& mode : out.modes) mode = {costs};
  return out;
}

}  // namespace fabricast::testing
