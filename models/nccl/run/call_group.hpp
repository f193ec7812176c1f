#pragma once
// Equal calls of one ncclGroup in one kernel: a block (a channel of a rank) runs its works one
// after another, each with all its threads (src/device/common.h, ncclKernelMain). What loading the
// next work takes is not modelled: it counts as nothing.

#include <functional>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// `time` is that of all calls, from the first byte on. On the chunk rung; links do not go down.
/// REQUIRES: as simulate(); a tuned collective of several ranks.
SimulationResult simulate_group(const Cluster& cluster, const SoftwareCosts& software,
                                const CollectiveRun& run, Partition partition, bool explain,
                                const std::function<void(double)>& progress);

}  // namespace fabricast
