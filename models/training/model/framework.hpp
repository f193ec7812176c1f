#pragma once
// What the software of a training run does to its time: what it overlaps by default, and at most
// three physical parameters that differ from 1 or none. A release is a framework of its own, named
// "megatron-bridge 26.02": kernels are fused and hidden better from one to the next.

#include <map>
#include <string>
#include <string_view>

#include "models/training/model/layout.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

struct Framework {
  std::string name, title;
  std::string alias_because;  ///< another name was asked for, which is counted as this one
  // The three parameters.
  double elementwise = 1;    ///< traffic of what is no GEMM, over the fused minimum
  Duration host_issue;       ///< per kernel; a layer takes at least kernels times this
  double attention = 1;      ///< share of what the GPU's attention kernels reach
  double communication = 1;  ///< times what collectives take that run alone
  Bandwidth exchange_rate;   ///< copying to and from buffers caps exchanges of cut weights; 0 = not
  // Defaults of a layout.
  bool flash_attention = true;
  bool ampere_attention = false;  ///< kernels written for Ampere, FlashAttention-2 and before
  bool direct_dispatch = false;   ///< of tokens: by stores, once to each node (DeepEP, HybridEP)
  bool drops_tokens = false;      ///< experts have a fixed capacity: the host waits for no counts
  bool sequence_parallel = true;  ///< where TP > 1
  Recompute recompute = Recompute::automatic;
  Overlap overlap;
  int gradient_bytes = 4;  ///< of what is reduced
};

/// By name or alias; under its name alone, a framework is its newest release.
using FrameworkCatalogue = std::map<std::string, Framework>;

/// The last release up to `version`; the first known one for an older version, and the newest for
/// "". REQUIRES: the catalogue has `name`.
const Framework& release_of(const FrameworkCatalogue& catalogue, const std::string& name,
                            std::string_view version);

}  // namespace fabricast
