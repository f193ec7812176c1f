#pragma once
// What of a run was simulated, and what stands against less (--explain-fold).

#include <string>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// Lines that begin with "#".
std::string fold_text(const BenchRow& row);

}  // namespace fabricast
