#include "models/studies/judge/judge_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/studies/shared/quantile.hpp"

namespace fabricast {

namespace {

constexpr double kQuadraticUpTo = 0.1;  // |ln|: errors of a good prediction; larger ones count less

/// Huber's: quadratic near 0, then linear, so that a few odd rows do not decide.
double huber(double x) {
  const double size = std::abs(x);
  return size <= kQuadraticUpTo ? size * size / 2 : kQuadraticUpTo * (size - kQuadraticUpTo / 2);
}

FitOfPrediction fit_of(std::size_t which, const std::vector<double>& measured,
                       const std::vector<double>& predicted, const std::vector<RowLimits>& limits) {
  FitOfPrediction out{which};
  std::vector<double> sizes;
  for (std::size_t row = 0; row < measured.size(); ++row) {
    const double ratio = measured[row] / predicted[row], left = std::log(ratio);
    sizes.push_back(std::abs(left));
    out.loss += huber(left) / static_cast<double>(measured.size());
    out.outside += ratio < limits[row].lower || ratio > limits[row].upper ? 1 : 0;
  }
  out.typical = median(std::move(sizes));
  return out;
}

}  // namespace

bool is_same_time(double a, double b) { return a <= b * kSameTime && b <= a * kSameTime; }

bool same_everywhere(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, is_same_time);
}

std::vector<FitGroup> rank_predictions(const std::vector<double>& measured,
                                       const std::vector<std::vector<double>>& predicted,
                                       const std::vector<std::vector<RowLimits>>& limits) {
  std::vector<FitOfPrediction> fits;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    fits.push_back(fit_of(i, measured, predicted[i], limits[i]));
  std::ranges::stable_sort(
      fits, {}, [](const FitOfPrediction& fit) { return std::pair(fit.outside, fit.loss); });
  std::vector<FitGroup> out;
  while (!fits.empty()) {
    const std::vector<double>& best = predicted[fits.front().which];
    const auto rest = std::stable_partition(fits.begin(), fits.end(), [&](const auto& fit) {
      return same_everywhere(best, predicted[fit.which]);
    });
    out.push_back({{fits.begin(), rest}});
    fits.erase(fits.begin(), rest);
  }
  return out;
}

}  // namespace fabricast
