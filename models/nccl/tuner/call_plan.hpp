#pragma once
// From what the tuner decided about a call to what its kernel gets: channels with work and chunks.

#include "models/nccl/split/partition.hpp"
#include "models/nccl/tuner/tuner.hpp"

namespace fabricast {

/// How the call is split. `count` as NCCL means it (message_size()). REQUIRES: decision.algorithm.
PartitionInput split_of(const TuningModel& model, Collective collective, std::int64_t count,
                        int element_bytes, const TunerDecision& decision);

struct CallPlan {
  int channels = 0;  ///< that have work
  Bytes chunk;       ///< of a middle channel, or of the first if there are at most two
  Bytes step;        ///< one slot of a connection
};

CallPlan call_plan(const PartitionInput& split);

}  // namespace fabricast
