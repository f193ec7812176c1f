#pragma once
// How far the ratio of two predictions is off: what a change is worth. On one machine the errors of
// two setups have much in common, so their ratio was measured by itself: of pairs of runs of one
// source on as many GPUs of one machine, with another environment or release. Machines that differ
// have errors that have nothing in common.

#include "models/io/bands/bands.hpp"

namespace fabricast {

/// 80 % of measured ratios lie between.
struct RatioBand {
  double lower = 1, upper = 1;
};

/// Bands of measured / predicted ratios, the slower by prediction over the faster, by range of
/// sizes; of pairs whose predictions differ by kTellsApart or more. `runs`: pairs.
std::vector<Band> make_change_bands(const std::vector<BandSample>& samples);

/// Predictions that are less apart tell nobody which is faster.
inline constexpr double kTellsApart = 0.02;

/// Of the time after a change over that before, predicted as `ratio`, on one machine. It holds the
/// ratio. Nothing where no such change was measured.
std::optional<RatioBand> change_band(const BandTable& table, std::size_t range, double ratio);
/// The same where the machine is another.
RatioBand machines_band(const FoundBand& before, const FoundBand& after, double ratio);

}  // namespace fabricast
