#pragma once
// How far the times of a measured run jump from size to size: what a run says of its own noise.

#include <vector>

#include "models/io/bands/measured.hpp"

namespace fabricast {

inline constexpr int kScatterPoints = 5;

/// By run, the standard deviation of the logarithm of a time, 0.1 = 10 %: from how far each point
/// is off the line through both neighbours (logarithms of size and time), by the median. 0 for runs
/// of fewer than kScatterPoints points between two others: that tells nothing.
std::vector<double> run_scatter(const Measurements& measured);

}  // namespace fabricast
