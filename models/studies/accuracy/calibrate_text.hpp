#pragma once
// A CalibrateResult for people, and as the file that every command reads.

#include <string>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/accuracy/calibrate.hpp"

namespace fabricast {

std::string calibrate_text(const CalibrateResult& result);
/// Values that moved, and bands where it was cross-validated.
Calibrated calibrated_of(const CalibrateResult& result);

}  // namespace fabricast
