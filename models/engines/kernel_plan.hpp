#pragma once
// What each GPU moves in a kernel of an engine, stage by stage. No time and no links here.

#include <vector>

#include "models/engines/engine.hpp"
#include "models/nccl/peer_kernels/peer_moves.hpp"

namespace fabricast {

/// Of H100: where nobody says how many a GPU has.
inline constexpr int kMultiprocessors = 132;
/// That a multiprocessor takes at once in TensorRT-LLM's two shots: 512 threads of 16 B
/// (allReduceFusionKernels.cu).
inline constexpr Bytes kRow{512 * 16};

/// The stages in order. REQUIRES: no `nccl`, 2 to 8 GPUs, whole message > 0.
std::vector<KernelStage> plan_kernel(EngineKernel kernel, int gpus, Bytes size,
                                     int multiprocessors = kMultiprocessors);

}  // namespace fabricast
