#pragma once
// Views of dispatch and combine.

#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/experts/experts.hpp"

namespace fabricast {

/// For people. `explain`: what each phase needs of each resource.
std::string experts_text(const ExpertsResult& result, bool explain);
/// Tables: rows, resources.
Report experts_report(const ExpertsResult& result);

}  // namespace fabricast
