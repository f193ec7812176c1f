#pragma once
// Calls as a plan has them: what simulate() does where the plan is not the one of the call, but of
// a call like it, or where all runs of a job have one draft.

#include "models/nccl/run/job_draft.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// `draft`: of the plan, if there is one; it saves time only. REQUIRES: a stream of one run, once;
/// a plan of as many works, each on its members.
SimulationResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                                  const Stream& stream, const JobPlan& plan,
                                  const SimulationOptions& options,
                                  const JobDraft* draft = nullptr);

/// The same of streams. REQUIRES: as simulate() with a plan.
StreamsResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                               std::span<const Stream> streams, const JobPlan& plan,
                               const SimulationOptions& options, const JobDraft* draft);

}  // namespace fabricast
