#pragma once
// What a user's own few rows are worth: the shipped fit goes on from its values with these rows
// alone, and predicts the rest of the cluster. Config, code, result and text.

#include <string>
#include <vector>

#include "models/studies/accuracy/calibrate.hpp"

namespace fabricast {

/// Of one source: rows of one run taken as a user's own, the others predicted. Both fits have not
/// seen the source otherwise.
struct OwnRunsRow {
  std::string source;
  int own_points = 0, other_points = 0;
  double before = 0, after = 0;  ///< median error of the others, without the rows and with them
};
struct OwnRunsResult {
  std::vector<OwnRunsRow> collectives;  ///< the others: other collectives, the same number of nodes
  std::vector<OwnRunsRow> nodes;        ///< the others: other numbers of nodes
};

/// Each source of `config.measured` as a user, with at most `own_rows` rows of one run: of the
/// fewest nodes, and of the collective that comes first in the alphabet. `shipped.left_out` says
/// what the fit without the source's runs is.
OwnRunsResult run_own_runs(const CalibrateConfig& config, const Calibrated& shipped, int own_rows,
                           const ForEach& for_each,
                           const std::function<void(const std::string&)>& say);

/// The values of the fit without the source's runs, as wide as those of the full fit.
Calibrated without_source(const Calibrated& shipped, const std::string& source);

std::string own_runs_text(const OwnRunsResult& result);

}  // namespace fabricast
