#pragma once
// What takes part in the tuner's race, and why the rest does not. Only the tuner includes this;
// facts: src/graph/tuning.cc and src/enqueue.cc of NCCL 2.21.5, 2.27.7 and 2.30.7.

#include <string>

#include "models/nccl/tuner/tuner.hpp"

namespace fabricast {

/// Why an algorithm with this protocol has no bandwidth in the model of this collective, in a
/// sentence; "" when it has. REQUIRES: speaks(algorithm, protocol).
std::string why_not_in_model(const TunerInput& input, Collective collective, Algorithm algorithm,
                             Protocol protocol);

/// Why the protocol alone is out: the user's list, or a machine that LL128 is not safe on. "" when
/// it is not.
std::string why_no_protocol(const TunerInput& input, Collective collective, Algorithm algorithm,
                            Protocol protocol);

/// Why calls pass over what is in the model; "" when they do not.
std::string why_passed_over(const TunerInput& input, Collective collective, Algorithm algorithm);

/// Why the switch cannot do it with elements of this size (src/include/transport.h,
/// ncclNvlsSupported): it does not sum those of one byte, which is what 2.21 takes those of an
/// all_gather for. From 2.22 on all_gather moves any. "" when it can.
std::string why_not_the_type(const TunerInput& input, Collective collective, Algorithm algorithm,
                             int element_bytes);

}  // namespace fabricast
