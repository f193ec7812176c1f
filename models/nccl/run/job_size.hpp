#pragma once
// What simulating a job takes, counted from the schedules that it would run, before it runs.

#include <cstdint>

#include "models/nccl/run/job_draft.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

struct JobSize {
  /// That GPU workers of all ranks handle: RunFacts::slices of the run.
  std::uint64_t slices = 0;
  /// That are simulated: of workers and ranks that are alike, those of one; and what proxies and
  /// switches pass on. Of sends and receives: chunks. What fast-forward jumps over is counted.
  std::uint64_t simulated = 0;
};

/// Folded as the plan says. Takes as long as building the schedules: no slice is looked at.
/// `draft`: of the plan, if there is one, so that its collectives need not be built.
JobSize job_size(const Cluster& cluster, const SoftwareCosts& software,
                 std::span<const Stream> streams, const JobPlan& plan,
                 const JobDraft* draft = nullptr);
/// Of one call whose symmetry is known.
JobSize job_size(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                 const Symmetry& symmetry);

}  // namespace fabricast
