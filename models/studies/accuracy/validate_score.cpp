#include "models/studies/accuracy/validate_score.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "models/io/bands/run_words.hpp"
#include "models/studies/shared/quantile.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr double kMissing = 1;  ///< error of a point without a prediction

/// The first value at which the weights up to it reach `share` of all.
double weighted_quantile(std::vector<std::pair<double, double>> values, double share) {
  constexpr double kRounding = 1e-12;
  std::ranges::sort(values);
  double total = 0, sum = 0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= share * total - kRounding) return value;
  }
  return 0;
}

/// Errors of the points of one run in one range.
struct Errors {
  std::vector<double> absolute, signs;

  void add(const Prediction& prediction, double measured_us) {
    if (prediction.method == Method::none) {
      absolute.push_back(kMissing);
      return;
    }
    const double error = (prediction.time_us - measured_us) / measured_us;
    absolute.push_back(std::abs(error));
    signs.push_back(error);
  }
};

/// By group, run and range.
using ErrorTable = std::map<std::string, std::map<std::pair<std::size_t, std::size_t>, Errors>>;

ErrorTable error_table(
    const ValidateResult& result,
    const std::function<std::string(const MeasuredRun&, const Prediction&)>& group) {
  ErrorTable table;
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    const MeasuredPoint& point = result.measured.points[i];
    const MeasuredRun& run = result.measured.runs[point.run];
    if (!run.scored) continue;
    const std::string name = group(run, result.predictions[i]);
    if (name.empty()) continue;
    table[name][{point.run, size_range(point.size)}].add(result.predictions[i], point.time_us);
  }
  return table;
}

RangeScores scores_of(const std::map<std::pair<std::size_t, std::size_t>, Errors>& runs) {
  RangeScores out;
  for (std::size_t range = 0; range < kSizeRanges; ++range) {
    std::vector<double> errors, biases;
    for (const auto& [key, points] : runs) {
      if (key.second != range) continue;
      errors.push_back(median(points.absolute));
      biases.push_back(median(points.signs));
    }
    out[range] = {median(errors), median(biases), static_cast<int>(errors.size())};
  }
  return out;
}

/// busbw x time of a run at about this size; the size that is nearest. 0: none within 10 %.
struct Found {
  double time_us = 0;
  Bytes size;
};
Found predicted_at(const ValidateResult& result, std::size_t run, Bytes size) {
  constexpr double kSizeNear = 0.1;
  Found found;
  double nearest = kSizeNear;
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    const MeasuredPoint& point = result.measured.points[i];
    if (point.run != run || result.predictions[i].method == Method::none) continue;
    const double away =
        std::abs(static_cast<double>(point.size.count) / static_cast<double>(size.count) - 1);
    if (away > nearest || (found.time_us > 0 && away == nearest)) continue;
    nearest = away;
    found = {result.predictions[i].time_us, point.size};
  }
  return found;
}

double busbw_at(const MeasuredRun& run, const Found& found) {
  return busbw_factor(run.collective, run.ranks) * static_cast<double>(found.size.count) /
         found.time_us;
}

}  // namespace

bool is_noisy(const MeasuredRun& run) {
  constexpr int kManyNodes = 64;
  return (run.net_kind == "slingshot" || run.net_kind == "tcp") && run.nodes >= kManyNodes;
}

std::vector<GroupScore> scores_by(
    const ValidateResult& result,
    const std::function<std::string(const MeasuredRun&, const Prediction&)>& group) {
  const auto quiet = [&](const MeasuredRun& run, const Prediction& prediction) {
    return is_noisy(run) ? std::string{} : group(run, prediction);
  };
  std::vector<GroupScore> out;
  for (const auto& [name, runs] : error_table(result, quiet))
    out.push_back({name, scores_of(runs)});
  return out;
}

bool is_modern(const MeasuredRun& run) {
  constexpr std::array old = {"T4",  "V100",  "P100",     "K80",     "M40",
                              "GTX", "TITAN", "RTX 2080", "RTX2080", "A10G"};
  constexpr std::array hopper_or_newer = {"H100",  "H200", "H800", "H20",
                                          "GH200", "B",    "GB",   "RTX_PRO"};
  constexpr int kFirstYear = 2023;
  const auto begins = [&](std::string_view name) { return run.gpu_model.starts_with(name); };
  if (std::ranges::any_of(old, begins)) return false;
  constexpr int kFirstSeries = 18;
  if (const auto release = release_in(run.nccl_version)) return release->series >= kFirstSeries;
  return leading_number<int>(run.date).value_or(0) >= kFirstYear ||
         std::ranges::any_of(hopper_or_newer, begins);
}

std::optional<ValidateResult> left_out_of(const ValidateResult& result) {
  ValidateResult out = result;
  bool any = false;
  for (Prediction& prediction : out.predictions) {
    if (prediction.left_out_us <= 0) continue;
    any = true;
    prediction.time_us = prediction.left_out_us;
    prediction.lower_us = prediction.left_out_lower_us;
    prediction.upper_us = prediction.left_out_upper_us;
  }
  if (!any) return std::nullopt;
  return out;
}

Summary summary_of(const ValidateResult& result,
                   const std::function<bool(const MeasuredRun&)>& counts) {
  Summary out;
  const auto by_class = [&](const MeasuredRun& run, const Prediction&) {
    return is_noisy(run) || (counts && !counts(run)) ? std::string{} : class_of(run);
  };
  const ErrorTable table = error_table(result, by_class);
  std::array<std::vector<std::pair<double, double>>, kSizeRanges> weighted;
  std::array<std::vector<double>, kSizeRanges> medians;
  for (const auto& [name, runs] : table) {
    out.classes.push_back({name, scores_of(runs)});
    const RangeScores& ranges = out.classes.back().ranges;
    for (std::size_t range = 0; range < kSizeRanges; ++range) {
      if (ranges[range].runs > 0) medians[range].push_back(ranges[range].error);
    }
    for (const auto& [key, points] : runs) {
      const double weight = 1.0 / ranges[key.second].runs;
      weighted[key.second].emplace_back(median(points.absolute), weight);
    }
  }
  for (std::size_t range = 0; range < kSizeRanges; ++range) {
    constexpr double kShare = 0.9;
    if (medians[range].empty()) continue;
    out.headline[range] = {median(medians[range]), weighted_quantile(weighted[range], kShare)};
  }
  const ErrorTable noisy = error_table(result, [&](const MeasuredRun& run, const Prediction&) {
    return std::string(is_noisy(run) && (!counts || counts(run)) ? "noisy" : "");
  });
  if (!noisy.empty()) out.noisy = scores_of(noisy.begin()->second);
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    const MeasuredRun& run = result.measured.runs[result.measured.points[i].run];
    if (!run.scored || (counts && !counts(run))) continue;
    ++out.points;
    const Prediction& prediction = result.predictions[i];
    const double time_us = result.measured.points[i].time_us;
    if (prediction.method != Method::none) ++out.predicted;
    if (prediction.upper_us <= 0) continue;
    ++out.banded;
    if (prediction.lower_us <= time_us && time_us <= prediction.upper_us) ++out.inside;
  }
  return out;
}

Scored score(const ValidateResult& result, const std::optional<ValidateResult>& left_out,
             const std::function<bool(const MeasuredRun&)>& counts) {
  Scored out{summary_of(result, counts), {}};
  if (left_out) out.unseen = summary_of(*left_out, counts);
  return out;
}

std::vector<RunScore> run_scores(const ValidateResult& result) {
  const ErrorTable table =
      error_table(result, [](const MeasuredRun&, const Prediction&) { return std::string("all"); });
  std::vector<RunScore> out;
  if (table.empty()) return out;
  for (const auto& [key, points] : table.begin()->second) {
    if (points.signs.empty()) continue;
    out.push_back({key.first, key.second, median(points.absolute), median(points.signs),
                   static_cast<int>(points.absolute.size())});
  }
  std::ranges::stable_sort(out, std::greater{}, &RunScore::error);
  return out;
}

PairSummary pair_summary(const ValidateResult& result) {
  constexpr double kLarge = 0.1;
  PairSummary out;
  std::vector<double> errors;
  const Measurements& measured = result.measured;
  for (std::size_t i = 0; i < measured.pairs.size(); ++i) {
    const MeasuredPair& pair = measured.pairs[i];
    const MeasuredRun &run = measured.runs[pair.run], &baseline = measured.runs[pair.baseline];
    if (!run.scored || !baseline.scored) continue;
    const Found of_run = predicted_at(result, pair.run, pair.size);
    const Found of_baseline = predicted_at(result, pair.baseline, pair.size);
    if (of_run.time_us <= 0 || of_baseline.time_us <= 0) continue;
    const double ratio = pair.is_busbw ? busbw_at(run, of_run) / busbw_at(baseline, of_baseline)
                                       : of_run.time_us / of_baseline.time_us;
    out.pairs.push_back({i, ratio});
    errors.push_back(std::abs(ratio / pair.ratio - 1));
    if (std::abs(pair.ratio - 1) <= kLarge) continue;
    ++out.large;
    if ((ratio - 1) * (pair.ratio - 1) > 0) ++out.right;
  }
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) { return errors[k]; });
  std::vector<PairScore> sorted;
  for (const std::size_t k : order) sorted.push_back(out.pairs[k]);
  out.pairs = std::move(sorted);
  out.median_error = median(errors);
  return out;
}

}  // namespace fabricast
