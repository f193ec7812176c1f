#pragma once
// The two formulas of the tuning model for every algorithm: how fast and how long. Only the tuner
// includes this; src/graph/tuning.cc of NCCL 2.21.5, 2.27.7 and 2.30.7.

#include "models/nccl/tuner/tuner.hpp"

namespace fabricast {

/// GB/s of the algorithm (message size over time), whatever the eligibility says; 0 = NCCL gives it
/// none. REQUIRES: the algorithm exists for the collective, and knows the protocol.
float tuned_bandwidth_GBps(const TunerInput& input, Collective collective, Algorithm algorithm,
                           Protocol protocol);
/// Microseconds. Same requirement.
float tuned_latency_us(const TunerInput& input, Collective collective, Algorithm algorithm,
                       Protocol protocol);

}  // namespace fabricast
