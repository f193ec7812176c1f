#pragma once
// From answers of NCCL's RAS to calls that are walked: of each rank RAS knows how many calls of
// each kind it made on each communicator, not in which order.

#include "models/io/records/ras_report.hpp"
#include "models/studies/hang/flight_calls.hpp"

namespace fabricast {

/// Of one job, the oldest answer first. The last one counts; communicators on which the rank that
/// is behind went on since the first are not stuck. REQUIRES: at least one.
RecordedCalls calls_of_ras(const std::vector<RasReport>& reports);

}  // namespace fabricast
