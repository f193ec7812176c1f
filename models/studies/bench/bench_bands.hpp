#pragma once
// The 80 % bands of a bench's rows.

#include <optional>
#include <string>

#include "models/io/bands/bands.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// Of background traffic, faults and schedules of one's own nothing was measured: their bands are
/// as wide as where nothing is known. Nodes that NVLink joins are one, to a band as to NCCL.
std::optional<FoundBand> band_of(const BenchResult& result, const BenchBlock& block,
                                 const BenchRow& row, const BandTable& bands);

/// The band in microseconds, about the time that the row shows: that of one call.
struct TimeBand {
  double lower_us = 0, upper_us = 0;
  Known known{};
  std::string basis;
};
std::optional<TimeBand> time_band(const BenchResult& result, const BenchBlock& block,
                                  const BenchRow& row, const BandTable& bands);

/// A line for each range of sizes among the rows, which are of one collective.
std::string bands_text(const BenchResult& result, const BenchBlock& block,
                       const std::vector<const BenchRow*>& rows, const BandTable& bands);

}  // namespace fabricast
