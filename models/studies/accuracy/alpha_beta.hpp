#pragma once
// The line that everybody draws first: T = a0 + a1 log2 N + a2 (N - 1) + bus bytes / B, fitted to
// measured runs of one class of hardware and one collective. A baseline for other predictors.

#include <string>
#include <vector>

namespace fabricast {

struct AlphaBetaPoint {
  std::string hardware, collective, source;
  int nodes = 1, ranks = 1;
  double bus_bytes = 0;  ///< size x busbw_factor()
  double time_us = 0;    ///< measured
  bool fitted = true;    ///< good enough to fit to
};

/// Times of all points, each by a fit that has not seen its own source; where the hardware has only
/// one, not its number of nodes; where there is nothing else, by a fit to the collective on all
/// other hardware. All four coefficients are kept from being negative; relative errors count. 0
/// where nothing is left to fit to.
std::vector<double> alpha_beta_left_out(const std::vector<AlphaBetaPoint>& points);

}  // namespace fabricast
