#pragma once
// What each GPU moves in a kernel of an engine, stage by stage. No time and no links here.

#include <vector>

#include "models/engines/engine.hpp"
#include "models/nccl/peer_kernels/peer_moves.hpp"

namespace fabricast {

/// The stages in order. REQUIRES: no `nccl`, 2 to 8 GPUs, whole message > 0.
std::vector<KernelStage> plan_kernel(EngineKernel kernel, int gpus, Bytes size);

}  // namespace fabricast
