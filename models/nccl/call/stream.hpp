#pragma once
// Calls of one communicator, one kernel after another: a CUDA stream of each of its ranks.

#include <optional>
#include <vector>

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

/// Launches that do not wait for the GPU.
struct LaunchesAhead {
  Duration interval;  ///< from the CPU's launch of a kernel to its next one
  Duration gap;  ///< from a rank's end of a kernel to the start of one that was launched before
};

/// Several streams on one cluster run beside each other: communicators of a job, or jobs of their
/// own. Each has its own proxy threads and thread blocks. That blocks of several kernels share an
/// SM or its memory is not modelled.
struct Stream {
  std::vector<CollectiveRun> runs;  ///< one kernel each, of the same members
  Instant start;                    ///< when the CPUs begin to launch the first
  /// None: a rank launches the next kernel when it has ended the one before.
  std::optional<LaunchesAhead> ahead{};
  int rounds = 1;  ///< the runs are called so often, one round after another
};

}  // namespace fabricast
