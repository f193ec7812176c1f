#pragma once
// What bench says of groups of sends and receives, which no tuner chooses anything for.

#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// Runs of sizes whose messages are cut alike, a line each. REQUIRES: rows of one such collective.
std::string p2p_choices(const std::vector<const BenchRow*>& rows);

/// "1 MiB", or "1 MiB .. 4 MiB".
std::string size_range(const BenchRow& first, const BenchRow& last);

}  // namespace fabricast
