#pragma once
// For tests of what variables do.

#include <vector>

#include "models/nccl/environment/env.hpp"

namespace fabricast {

/// Of assignments such as "NCCL_IB_HCA=mlx5_0".
inline Environment environment_of(const std::vector<const char*>& assignments) {
  Environment out;
  for (const char* assignment : assignments) out.set(assignment);
  return out;
}

}  // namespace fabricast
