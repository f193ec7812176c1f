#pragma once
// The ways that the channels of a run take through a cluster.

#include <vector>

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

/// Of every hop, by channel and rank, as the simulation would connect these members, in place of
/// the run's. REQUIRES: as simulate(); several ranks.
std::vector<Transport> ways_of(const Cluster& cluster, const Members& members,
                               const CollectiveRun& run);

}  // namespace fabricast
