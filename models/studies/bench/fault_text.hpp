#pragma once
// What faults did to one row, in sentences.

#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// REQUIRES: row.healthy.
std::vector<std::string> fault_notes(const Cluster& cluster, const Retry& retry,
                                     const BenchRow& row);

/// On "gpu ... slow 80%", whose word is "speed" since it leaves 80 % of it; else "".
std::string old_word_note(const FaultSpec& fault);

}  // namespace fabricast
