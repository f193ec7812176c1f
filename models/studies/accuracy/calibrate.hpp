#pragma once
// The study behind `fabricast calibrate`: physical parameters of the parts catalogue fitted to
// measured runs of nccl-tests. Config, code and result; texts are in calibrate_text.hpp.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/catalogue_text.hpp"
#include "models/studies/accuracy/robust_fit.hpp"
#include "models/studies/accuracy/validate_score.hpp"

namespace fabricast {

/// One factor on one or several figures of the catalogue that are the same thing in hardware.
struct CalibrationParameter {
  Place place;
  std::string name;
  std::vector<std::string> paths;  ///< dotted, into topologies/parts.yaml
  std::string low, high;  ///< of each figure, from physics: "25 GB/s", or "0.6 x" its value
  double width = 0.3;     ///< of the prior: 0.3 is about 30 % around the catalogue's value
};

struct CalibrationRecipe {
  std::string file, name;
  std::string runs, points;                ///< files
  std::string unseen_runs, unseen_points;  ///< files of what no fit sees; "" = none
  int points_per_range = 2;                ///< of a run that are fitted to
  double noise = 0.1;                      ///< relative, of a point on hardware of one kind
  double huber = 0.1;                      ///< relative errors above this count linearly
  std::vector<CalibrationParameter> parameters;
};

struct CalibrateConfig {
  CalibrationRecipe recipe;
  Measurements measured;
  std::int64_t slices_max = 0;        ///< of calls that are fitted to; larger ones are passed over
  std::int64_t slices_max_final = 0;  ///< of predictions for what was left out: extrapolated above
  std::string leave_out;              ///< a source whose runs are not fitted to; "" = none
  bool cross_validate = false;        ///< refit without each source in turn
  /// Values that a fit to other runs gave: the prior is around them, as wide as their intervals.
  /// Then runs of one source are enough, and each run and range of sizes weighs as much as any
  /// other.
  std::optional<Calibrated> start;
};

/// What became of one parameter.
struct FittedParameter {
  double factor = 1;         ///< on the catalogue's value, as written
  double low = 1, high = 1;  ///< 90 % interval of the factor
  bool at_bound = false;
  int runs = 0, sources = 0;  ///< that depend on it; with one source it is not fitted
  Identified identified;
  std::vector<std::string> from, to;  ///< values, by path
  std::vector<std::string> to_low, to_high;
};

struct CalibrateResult {
  CalibrationRecipe recipe;
  std::vector<FittedParameter> parameters;  ///< as in the recipe
  int runs = 0, points = 0, sources = 0;    ///< that were fitted to
  int rounds = 0;
  double cost_before = 0, cost = 0;
  ValidateResult before, after;  ///< the points that were fitted to
  /// The runs that were left out, predicted by the fits that have not seen them.
  std::optional<ValidateResult> unseen;
  std::vector<BandSample> samples;                      ///< of `unseen`
  std::map<std::string, std::vector<double>> left_out;  ///< by source: factors of the refit without
  std::map<std::string, std::vector<LeftOutBand>> left_out_bands;  ///< by source: of the others
};

/// Runs that cannot be mapped and those of is_noisy() are not fitted to. Throws Error for figures
/// that do not exist or stand outside their bounds, and for more than 12 free parameters of a node
/// class or 6 of a network.
CalibrateResult run_calibrate(CalibrateConfig config, const ForEach& for_each,
                              const std::function<void(const std::string&)>& say);

}  // namespace fabricast
