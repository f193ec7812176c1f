#pragma once
// What faults did to one row, in sentences.

#include <string>
#include <vector>

#include "models/studies/bench.hpp"

namespace fabricast {

/// REQUIRES: row.healthy.
std::vector<std::string> fault_notes(const Cluster& cluster, const Retry& retry,
                                     const BenchRow& row);

}  // namespace fabricast
