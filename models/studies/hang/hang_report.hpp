#pragma once
// Who waits for whom, for programs.

#include "models/io/report/report.hpp"
#include "models/studies/hang/hang.hpp"

namespace fabricast {

/// Tables: rows (ranks that are stuck), ended, mismatches.
Report hang_report(const HangResult& result, double timeout_s);

}  // namespace fabricast
