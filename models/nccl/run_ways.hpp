#pragma once
// The ways that the channels of a run take through a cluster.

#include <vector>

#include "models/nccl/simulation.hpp"

namespace fabricast {

/// Of every hop, by channel and rank, as the simulation connects them. `nodes`: on the first so
/// many of the cluster. REQUIRES: as simulate(); nodes <= cluster.nodes(), several ranks.
std::vector<Transport> ways_of(const Cluster& cluster, int nodes, const CollectiveRun& run);

}  // namespace fabricast
