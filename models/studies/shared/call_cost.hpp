#pragma once
// About how many slices a call takes to simulate, before it is.

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// Exact for rings, within a factor of about two for what else there is.
std::int64_t expected_slices(const CollectiveRun& run, int cluster_nodes);

}  // namespace fabricast
