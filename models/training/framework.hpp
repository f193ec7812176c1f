#pragma once
// What the software of a training run does to its time: what it overlaps by default, and at most
// three physical parameters.

#include <map>
#include <string>

#include "models/training/layout.hpp"
#include "sim/units.hpp"

namespace fabricast {

struct Framework {
  std::string name, title;
  // The three parameters.
  double elementwise = 1;  ///< traffic of what is no GEMM, over the fused minimum
  Duration host_issue;     ///< per kernel; a layer takes at least kernels times this
  double gemm_share = 1;   ///< of the GEMM rate of kernel benchmarks that a running job reaches
  // Defaults of a layout.
  bool flash_attention = true;
  bool sequence_parallel = true;  ///< where TP > 1
  Recompute recompute = Recompute::automatic;
  Overlap overlap;
  int gradient_bytes = 4;  ///< of what is reduced
};

using FrameworkCatalogue = std::map<std::string, Framework>;

}  // namespace fabricast
