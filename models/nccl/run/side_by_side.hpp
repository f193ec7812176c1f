#pragma once
// Two jobs that call at the same time: how much each is slowed by the other.

#include <span>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

struct TwoJobs {
  struct Job {
    Duration call;  ///< one call of all its communicators, alone
    StreamsResult
        alone;  ///< as many calls as last about as long as one of the other job, at most 16
    double slowdown = 1;  ///< time beside the other over time alone, of what runs beside it
  };
  Job first, second;
  StreamsResult both;  ///< the first job's streams, then the second's
};

/// Both on one clock, each with as many calls as last about as long. REQUIRES: as simulate(); each
/// has runs.
TwoJobs side_by_side(const Cluster& cluster, const SoftwareCosts& software,
                     std::span<const CollectiveRun> first, std::span<const CollectiveRun> second);

}  // namespace fabricast
