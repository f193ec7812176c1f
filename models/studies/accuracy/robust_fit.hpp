#pragma once
// A robust least-squares fit of a few parameters with bounds and a prior: Levenberg-Marquardt on
// Huber's loss. Knows nothing of what is fitted. Parameters begin at 0 and are logarithms of
// factors: 0.1 is 10 % up.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace fabricast {

using Vector = std::vector<double>;
using Slopes = std::vector<Vector>;  ///< by parameter, by residual: d residual / d parameter

struct FitBounds {
  double low = -1, high = 1;
  double width = 0.3;  ///< standard deviation of the prior around 0
};

struct FitProblem {
  std::vector<FitBounds> parameters;
  Vector weights;      ///< by residual; 0 = left out
  double noise = 0.1;  ///< standard deviation of a residual of weight 1
  double huber = 0.1;  ///< residuals above this count linearly
  std::function<Vector(const Vector& x)> residuals;
  /// At x, where the residuals are `at`.
  std::function<Slopes(const Vector& x, const Vector& at)> slopes;
};

double fit_cost(const FitProblem& problem, const Vector& x, const Vector& residuals);

/// The best x if residuals were linear: `at` at `from`, and from there on by `slopes`.
Vector linear_fit(const FitProblem& problem, const Vector& from, const Vector& at,
                  const Slopes& slopes);

struct FitResult {
  Vector x, residuals;
  Slopes slopes;  ///< those of the last round
  double cost_before = 0, cost = 0;
  int rounds = 0;
};
/// By differences: of parameter i between x and `steps[i]` away from it. Residuals are `at` at x.
Slopes difference_slopes(const std::function<Vector(const Vector& x)>& residuals, const Vector& x,
                         const Vector& at, const Vector& steps);

/// `from` where the residuals are `at`, with their `slopes` there; by default x = 0.
FitResult robust_fit(const FitProblem& problem, Vector at, Slopes slopes, Vector from = {});

/// What the data say of one parameter.
struct Identified {
  enum class Verdict { free, untouched, weak, correlated, crowded };
  Verdict verdict = Verdict::free;
  std::size_t other = 0;  ///< correlated with it most
  double correlation = 0;
  double width_ratio = 1;  ///< posterior / prior standard deviation
};
/// Parameters that no residual depends on, that move less than the prior allows anyway, or that a
/// combination of the others replaces: pinned one by one, the least determined first.
std::vector<Identified> identify(const FitProblem& problem, const Vector& at, const Slopes& slopes);

/// Of the free ones among `these` so many stay free: those that the data say most of.
void keep_best(std::vector<Identified>& found, const std::vector<std::size_t>& these,
               std::size_t most);

/// Standard deviations of the parameters: from the curvature of the cost, times the scatter of the
/// residuals by a robust measure where it is above the noise.
Vector fit_deviations(const FitProblem& problem, const Vector& residuals, const Slopes& slopes);

}  // namespace fabricast
