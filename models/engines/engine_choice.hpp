#pragma once
// Which kernel an engine takes for an all-reduce, by the rules of its own source.
//
//   vLLM        csrc/custom_all_reduce.cuh (two GPUs, or below 512 KiB on up to 4 and 256 KiB on up
//               to 8: one shot); distributed/device_communicators/all_reduce_utils.py and
//               symm_mem.py (limits by compute capability; pull requests 20759 and 24111)
//   SGLang      srt/distributed/device_communicators/custom_all_reduce.py (8 MiB) and
//               custom_all_reduce_v2.py (from pull request 24363 on: thresholds, 16 MiB)
//   TensorRT-LLM cpp/tensorrt_llm/common/customAllReduceUtils.h: the table of strategies by GPUs,
//               hidden size and tokens, without fusion; its autotuner is off
//   FlashInfer  comm/trtllm_ar.py: one shot up to so many MiB of traffic

#include <string>

#include "models/engines/engine.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

struct EngineQuestion {
  EngineRelease release;
  int sm = 0;              ///< compute capability of the GPUs, 90 = 9.0
  int gpus = 0;            ///< of the call
  int hosts = 1;           ///< they lie on
  bool all_nvlink = true;  ///< each reaches each over NVLink
  bool multicast = true;   ///< the NVSwitches sum and multicast (NVLink SHARP)
  Bytes size;              ///< message
  bool bfloat16 = true;
  int element_bytes = 2;
};

struct EngineChoice {
  EngineKernel kernel = EngineKernel::nccl;
  std::string why;  ///< in a sentence without a full stop
};

/// Tokens of TensorRT-LLM's table are rows of so many elements: a message says no more than its
/// bytes. The shape that is assumed, that of Llama-3 8B.
inline constexpr int kHiddenSize = 4096;

/// REQUIRES: gpus >= 1.
EngineChoice choose_kernel(const EngineQuestion& question);

}  // namespace fabricast
