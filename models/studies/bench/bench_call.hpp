#pragma once
// The call of a bench's row: NCCL's decision, or the algorithm that runs instead.

#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// A custom algorithm that may run in any protocol takes the fastest on `cluster`. Throws Error.
DecidedCall decide_row(const BenchConfig& config, const Cluster& cluster,
                       const SoftwareCosts& software, const Communicator& communicator,
                       const Call& call);

}  // namespace fabricast
