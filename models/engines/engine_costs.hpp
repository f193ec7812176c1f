#pragma once
// What the kernels of engines cost beside the links that they cross. Values and their sources are
// in workloads/engines.yaml, how they were found in docs/engines.md.

#include <array>

#include "models/engines/engine.hpp"
#include "models/nccl/peer_kernels/peer_costs.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// What its kernels cost beside those of peers that they are made of.
struct EngineCosts : PeerCosts {
  Bytes window;            ///< that one thread block's grid has under way from a peer
  double pull_window = 0;  ///< times as much: kernels of SGLang from 0.5.11 on
  Duration lamport_body;   ///< of a kernel, at 1 GHz: TensorRT-LLM's and FlashInfer's
  Duration sglang_body;    ///< SGLang's from 0.5.11 on
  /// From a call of the framework to its next one, where no CUDA graph holds it: Python, on an
  /// Intel Xeon 8480C.
  std::array<Duration, 4> host_call{};  ///< by Engine
  Duration sglang_host_call;            ///< SGLang's from 0.5.11 on
};

inline Duration host_call_of(const EngineCosts& costs, const EngineRelease& release) {
  if (release.engine == Engine::sglang && release.is_since(0, 5, 11)) return costs.sglang_host_call;
  return costs.host_call[static_cast<std::size_t>(release.engine)];
}

/// An engine that calls, and what its kernels cost.
struct CallingEngine {
  EngineRelease release;
  EngineCosts costs;
};

}  // namespace fabricast
