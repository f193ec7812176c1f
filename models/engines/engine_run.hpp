#pragma once
// Runs a kernel of an engine on the links of a cluster: each GPU is a block of the exchange
// (sim/machines/exchange.hpp), a flag, a load or a store is a message between two of them.

#include <vector>

#include "models/engines/engine_choice.hpp"
#include "models/engines/engine_costs.hpp"
#include "models/engines/kernel_plan.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/run/simulation.hpp"

namespace fabricast {

struct EngineCall {
  EngineRelease release;
  EngineKernel kernel{};
  Bytes size;
  bool cuda_graph = true;  ///< else each call is Python's, with a copy of the input before it
};

/// What choose_kernel() needs to know of the machine.
/// REQUIRES: members of the cluster.
EngineQuestion question_of(const EngineRelease& release, const Cluster& cluster,
                           const Members& members, Bytes size, bool bfloat16, int element_bytes);

/// The time of a call among others that follow each other. `launch` is the gap between nodes of the
/// graph and what the kernel does before its first byte moves; without a graph also what the CPU
/// takes longer than the GPU. REQUIRES: one node, no `nccl`, as plan_kernel().
SimulationResult simulate_engine(const Cluster& cluster, const Members& members,
                                 const EngineCosts& costs, const EngineCall& call,
                                 bool explain = false);

/// How many thread blocks it has, at most.
int blocks_of(EngineKernel kernel, Bytes size);

}  // namespace fabricast
