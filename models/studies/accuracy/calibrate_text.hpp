#pragma once
// A CalibrateResult for people, and as the file that every command reads.

#include <string>

#include "models/io/report/report.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/accuracy/calibrate.hpp"

namespace fabricast {

/// Parameters that moved and errors by class, before and after.
Report calibrate_report(const CalibrateResult& result);
std::string calibrate_text(const CalibrateResult& result);
/// Values that moved, and bands where it was cross-validated.
Calibrated calibrated_of(const CalibrateResult& result);

}  // namespace fabricast
