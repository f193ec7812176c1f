#pragma once
// How far a measured time may be from the predicted one before it says anything.

#include "models/nccl/types.hpp"

namespace fabricast {

/// Measured over predicted time: inside, the row is as expected.
struct TimeBand {
  double lower = 0, upper = 0;
};

/// One constant for all so far. Of the published runs that docs/validate.md compares, half of the
/// rows are within 5 to 15 % by size, nine in ten within 20 to 45 %.
constexpr TimeBand band_of(Collective, Bytes) { return {0.8, 1.25}; }

}  // namespace fabricast
