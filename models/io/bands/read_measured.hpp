#pragma once
// runs.csv, points.csv and pairs.csv -> Measurements.

#include "models/io/bands/measured.hpp"

namespace fabricast {

/// `pairs_file` may be "". What is wrong with a row is an Error with its line, which is thrown or
/// told of Measurements::unread. So is a point of a run that runs.csv does not have; a pair of such
/// a run is left out.
Measurements load_measurements(const std::string& runs_file, const std::string& points_file,
                               const std::string& pairs_file, BadRows bad = BadRows::refuse);

/// The same from text, for tests; the names are for messages, here runs.csv and points.csv.
Measurements parse_measurements(const std::string& runs, const std::string& points, BadRows bad);
std::vector<MeasuredRun> parse_runs(const std::string& text, const std::string& file);
void parse_points(const std::string& text, const std::string& file, Measurements& out);

/// Both as one, the runs of `more` last. No pairs of `more`.
Measurements together(Measurements all, Measurements more);

}  // namespace fabricast
