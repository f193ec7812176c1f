#pragma once
// What the kernels of engines cost beside the links that they cross. Values and their sources are
// in workloads/engines.yaml, how they were found in docs/engines.md.

#include <array>
#include <map>

#include "models/engines/engine.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// Of a generation of GPUs.
struct EngineGpu {
  Duration hop;          ///< from a store to a peer until the peer that polls has seen it
  Duration load;         ///< of a peer's memory, there and back, with what a thread does with it
  Bandwidth local;       ///< at which a kernel goes over its own memory
  double clock_GHz = 0;  ///< of the multiprocessors, boost
};

struct EngineCosts {
  std::map<int, EngineGpu> gpus;  ///< by compute capability
  Duration node;              ///< from the end of a node of a CUDA graph to the start of the next
  Duration copy;              ///< of a copy kernel before or after another, beside its bytes
  Duration peer;              ///< of a barrier, for each peer but the first
  double loads = 0;           ///< share of a link that loads through it reach, of what stores may
  double stores = 0;          ///< and stores of a whole message to all peers
  double multimem = 0;        ///< and what the switch sums and multicasts
  Bytes window;               ///< that one thread block's grid has under way from a peer
  double pull_window = 0;     ///< times as much: kernels of SGLang from 0.5.11 on
  double scatter_window = 0;  ///< and TensorRT-LLM's two shots
  Duration lamport_body;      ///< of a kernel, at 1 GHz: TensorRT-LLM's and FlashInfer's
  Duration sglang_body;       ///< SGLang's from 0.5.11 on
  /// From a call of the framework to its next one, where no CUDA graph holds it: Python and CPU.
  std::array<Duration, 4> host_call{};  ///< by Engine
};

/// An engine that calls, and what its kernels cost.
struct CallingEngine {
  EngineRelease release;
  EngineCosts costs;
};

/// Of the GPU's generation, else of the nearest older one, else of the oldest.
const EngineGpu& costs_of(const EngineCosts& costs, int sm);
/// What a generation that nobody measured is taken for: as many cycles as `known` takes.
EngineGpu derived(const EngineGpu& known, double clock_GHz, Bandwidth local);

}  // namespace fabricast
