#pragma once
// runs.csv, points.csv and pairs.csv -> Measurements.

#include "models/io/bands/measured.hpp"

namespace fabricast {

/// `pairs_file` may be "". Throws Error with the line of what is wrong. A point of a run that
/// runs.csv does not have is an Error; a pair of such a run is left out.
Measurements load_measurements(const std::string& runs_file, const std::string& points_file,
                               const std::string& pairs_file);

/// The same from text, for tests; the names are for messages.
std::vector<MeasuredRun> parse_runs(const std::string& text, const std::string& file);
void parse_points(const std::string& text, const std::string& file, Measurements& out);
void parse_pairs(const std::string& text, const std::string& file, Measurements& out);

/// Both as one, the runs of `more` last. No pairs of `more`.
Measurements together(Measurements all, Measurements more);

}  // namespace fabricast
