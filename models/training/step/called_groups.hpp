#pragma once
// The groups of ranks that call NCCL in a step, and for what: what its communicators take of GPU
// memory follows from that.

#include <vector>

#include "models/training/step/step_calls.hpp"

namespace fabricast {

/// All groups of a kind call the same.
struct CalledGroup {
  Among among{};
  RankGroup group;  ///< of stages the whole pipeline, where neighbours call each other
  std::vector<MemoryCall> calls;  ///< by any stage, each once
};

/// `nccl_brings_tokens`: else kernels of their own bring them to experts. REQUIRES: check_layout()
/// passed; recompute may be automatic, as recomputation makes some calls again and no others.
std::vector<CalledGroup> called_groups(const StepSetup& setup, bool nccl_brings_tokens);

}  // namespace fabricast
