#pragma once
// What was asked, as a report says it.

#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

Json environment_json(const Environment& environment);
/// {"site": ..., "ask": ...}. `nodes`: their numbers; none = the topology's own.
Json job_json(const Job& job, const std::vector<int>& nodes, Json ask);

}  // namespace fabricast
