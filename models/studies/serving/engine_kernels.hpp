#pragma once
// Kernels of inference engines in place of NCCL's collectives: all-reduces of models/engines,
// dispatch and combine of models/experts, simulated on the cluster's links at powers of two and
// interpolated between.

#include <string>

#include "models/engines/engine_costs.hpp"
#include "models/experts/kernel_costs.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/workloads/load_serving.hpp"
#include "models/studies/training/serve.hpp"

namespace fabricast {

/// Data that travels in the program.
struct EngineData {
  EngineCosts reduces;
  ExpertKernels experts;
  ServingCosts serving;
  Duration launch_any;  ///< from the CPU's launch to an idle GPU's kernel, of GPUs nobody measured
};
EngineData load_engine_data(const SoftwareCosts& software);

/// Of such a layout. Empty functions where the engine leaves a call to NCCL. `cluster` and `data`
/// outlive it; not for several threads. Throws Error.
ServeKernels engine_kernels(const ServeConfig& config, const ServeLayout& layout,
                            const Cluster& cluster, const EngineData& data);

/// Whose dispatch and combine: DeepEP's for vLLM and SGLang, low-latency ones up to 256 tokens, or
/// to 1024 where they are asked for; in one NVLink domain TensorRT-LLM's own. Between NVLink
/// domains hybrid ones take the place of normal ones. `cluster`: of the GPUs that hold experts.
EpMode expert_mode(const ServeConfig& config, const Cluster& cluster, double tokens);

}  // namespace fabricast
