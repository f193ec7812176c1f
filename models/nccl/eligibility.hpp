#pragma once
// What takes part in the tuner's race, and why the rest does not. Only the tuner includes this;
// facts: src/graph/tuning.cc of NCCL 2.21.5, 2.27.7 and 2.30.7.

#include <string>

#include "models/nccl/tuner.hpp"

namespace fabricast {

constexpr bool exists(Algorithm algorithm, Collective collective) {
  return algorithm == Algorithm::ring || collective == Collective::all_reduce;
}

/// Why Ring or Tree with this protocol is out for this collective, in a sentence; "" when it is in.
std::string why_excluded(const TunerInput& input, Collective collective, Algorithm algorithm,
                         Protocol protocol);

/// 2.19 to 2.23: a collective for which nothing is left runs on rings with every protocol, whatever
/// the lists say; later versions refuse the call. Asked when neither Ring nor Tree is in.
bool rings_return(const TunerInput& input, Collective collective);

}  // namespace fabricast
