#pragma once
// One call as a plan has it: what simulate() does where the plan is not the one of the call, but of
// a call like it.

#include "models/nccl/run/simulation.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// REQUIRES: a stream of one run, once; a plan of as many works, each on its members.
SimulationResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                                  const Stream& stream, const JobPlan& plan,
                                  const SimulationOptions& options);

}  // namespace fabricast
