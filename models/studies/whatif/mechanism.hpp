#pragma once
// Why one run is faster or slower than another, in words: the choice, what crosses which kind of
// link, which link sets the pace, where the critical path spends its time.

#include <string>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// "" when nothing changes. REQUIRES: both rows are explained; the same work.
std::string mechanism(const BenchBlock& block_before, const BenchRow& before,
                      const BenchBlock& block_after, const BenchRow& after);

}  // namespace fabricast
