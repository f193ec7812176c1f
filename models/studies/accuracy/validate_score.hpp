#pragma once
// How far predictions are from measurements. Error = |predicted - measured| / measured; of a run in
// a range of sizes: the median over its points; of a group of runs: the median over them. A point
// without a prediction counts as an error of 1.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/io/bands/size_range.hpp"
#include "models/studies/accuracy/validate.hpp"

namespace fabricast {

/// The score of one range of sizes.
struct RangeScore {
  double error = 0;
  double bias = 0;  ///< with its sign
  int runs = 0;     ///< 0 = nothing was measured
};
using RangeScores = std::array<RangeScore, kSizeRanges>;

struct GroupScore {
  std::string name;
  RangeScores ranges;
};

/// Scored runs only. Groups in the order of their names; a point may belong to none ("").
/// Runs on many nodes of shared systems are left out: see is_noisy().
std::vector<GroupScore> scores_by(
    const ValidateResult& result,
    const std::function<std::string(const MeasuredRun&, const Prediction&)>& group);

/// Slingshot or TCP from 64 nodes on: other jobs make such runs differ by 10-20 %.
bool is_noisy(const MeasuredRun& run);

struct Headline {
  std::optional<double> median;  ///< over classes; nothing where nothing was measured
  std::optional<double> p90;  ///< 90th percentile over runs, each weighted by 1 / runs of its class
};
struct Summary {
  std::vector<GroupScore> classes;
  std::array<Headline, kSizeRanges> headline;
  RangeScores noisy;  ///< the runs of is_noisy()
  int points = 0, predicted = 0;
  int banded = 0, inside = 0;  ///< with a band; measured inside it
};
/// Of the runs that `counts` says.
Summary summary_of(const ValidateResult& result,
                   const std::function<bool(const MeasuredRun&)>& counts = {});
/// Ampere or newer with NCCL 2.18 or later; where the release is not known, published in 2023 or
/// later, or Hopper or newer.
bool is_modern(const MeasuredRun& run);
/// The same runs by fits that have not seen their sources; nothing where there are no such.
std::optional<ValidateResult> left_out_of(const ValidateResult& result);

/// Of the same runs, as shipped and by fits that have not seen their sources.
struct Scored {
  Summary seen;
  std::optional<Summary> unseen;
};
/// `left_out` is left_out_of(result).
Scored score(const ValidateResult& result, const std::optional<ValidateResult>& left_out,
             const std::function<bool(const MeasuredRun&)>& counts = {});

struct RunScore {
  std::size_t run = 0;
  std::size_t range = 0;
  double error = 0, bias = 0;
  int points = 0;
};
/// Scored runs by range, the worst first; left out are those without any prediction.
std::vector<RunScore> run_scores(const ValidateResult& result);

struct PairScore {
  std::size_t pair = 0;
  double predicted = 0;  ///< ratio
};
struct PairSummary {
  std::vector<PairScore> pairs;  ///< both runs scored and predicted, worst first
  int large = 0;                 ///< of these, measured to change by more than 10 %
  int right = 0;                 ///< of those, with the direction right
  double median_error = 0;       ///< of the ratio
};
PairSummary pair_summary(const ValidateResult& result);

}  // namespace fabricast
