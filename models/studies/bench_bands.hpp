#pragma once
// The 80 % bands of a bench's rows.

#include <optional>
#include <string>

#include "models/studies/bands.hpp"
#include "models/studies/bench.hpp"

namespace fabricast {

/// Nothing where bands say nothing: several groups at once, background traffic, faults.
std::optional<FoundBand> band_of(const BenchResult& result, const BenchBlock& block,
                                 const BenchRow& row, const BandTable& bands);

/// A line for each range of sizes among the rows, which are of one collective.
std::string bands_text(const BenchResult& result, const BenchBlock& block,
                       const std::vector<const BenchRow*>& rows, const BandTable& bands);

}  // namespace fabricast
