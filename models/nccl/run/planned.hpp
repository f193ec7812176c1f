#pragma once
// Calls as a plan has them: what simulate() does where the plan is not the one of the call, but of
// a call like it, or where runs of a job share what is built for it.

#include "models/nccl/run/job_draft.hpp"
#include "models/nccl/run/kept_machines.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// What is there already for a plan; it saves time only.
struct Prepared {
  const JobDraft* draft = nullptr;  ///< of the plan; null: there is none
  /// Of runs of the draft, to use again; null: they are not kept.
  KeptMachines* machines = nullptr;
};

/// REQUIRES: a stream of one run, once; a plan of as many works, each on its members. Where
/// machines are kept, streams and plan outlive them.
SimulationResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                                  const Stream& stream, const JobPlan& plan,
                                  const SimulationOptions& options, const Prepared& prepared = {});

/// The same of streams. REQUIRES: as simulate() with a plan.
StreamsResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                               std::span<const Stream> streams, const JobPlan& plan,
                               const SimulationOptions& options, const Prepared& prepared);

}  // namespace fabricast
