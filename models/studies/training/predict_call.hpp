#pragma once
// The time that is predicted for one call of a trace.

#include "models/studies/training/traced_calls.hpp"
#include "models/training/calls/collective_times.hpp"

namespace fabricast {

/// A line of one call, with its time or why there is none. `group`: how its ranks lie; as many as
/// the call says, or all of `world`.
TracedLine predict_call(const TracedCall& call, RankGroup group, int world, CollectiveTimes& times);

}  // namespace fabricast
