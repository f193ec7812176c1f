#include "models/studies/accuracy/robust_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/studies/shared/quantile.hpp"

namespace fabricast {
namespace {

using Matrix = Eigen::MatrixXd;
using Column = Eigen::VectorXd;

double square(double value) { return value * value; }

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

/// Weights of a quadratic that touches Huber's loss where the residuals are.
Vector local_weights(const FitProblem& problem, const Vector& residuals) {
  Vector out(residuals.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double size = std::abs(residuals[i]);
    const double share = size > problem.huber ? problem.huber / size : 1;
    out[i] = problem.weights[i] * share / square(problem.noise);
  }
  return out;
}

/// What the data alone say: J'WJ.
Matrix information(const Vector& weights, const Slopes& slopes) {
  const std::size_t n = slopes.size();
  Matrix out = Matrix::Zero(index(n), index(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a; b < n; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        sum += weights[i] * slopes[a][i] * slopes[b][i];
      out(index(a), index(b)) = out(index(b), index(a)) = sum;
    }
  }
  return out;
}

Matrix with_prior(Matrix data, const FitProblem& problem) {
  for (std::size_t k = 0; k < problem.parameters.size(); ++k)
    data(index(k), index(k)) += 1 / square(problem.parameters[k].width);
  return data;
}

/// Half the derivative of the cost.
Column gradient(const FitProblem& problem, const Vector& x, const Vector& residuals,
                const Vector& weights, const Slopes& slopes) {
  Column out(index(x.size()));
  for (std::size_t k = 0; k < x.size(); ++k) {
    double sum = x[k] / square(problem.parameters[k].width);
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += weights[i] * slopes[k][i] * residuals[i];
    out(index(k)) = sum;
  }
  return out;
}

/// The step to the minimum of a quadratic inside the bounds: whatever would leave them stays on
/// them, and the rest is solved again.
Vector bounded_step(const FitProblem& problem, const Vector& x, const Matrix& curvature,
                    const Column& downhill) {
  const std::size_t n = x.size();
  std::vector<bool> held(n, false);
  Vector step(n, 0);
  for (std::size_t turn = 0; turn <= n; ++turn) {
    Matrix reduced = curvature;
    Column wanted = -downhill;
    for (std::size_t k = 0; k < n; ++k) {
      if (!held[k]) continue;
      for (std::size_t j = 0; j < n; ++j) {
        if (!held[j]) wanted(index(j)) -= curvature(index(j), index(k)) * step[k];
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (!held[k]) continue;
      reduced.row(index(k)).setZero();
      reduced.col(index(k)).setZero();
      reduced(index(k), index(k)) = 1;
      wanted(index(k)) = step[k];
    }
    const Column solved = reduced.ldlt().solve(wanted);
    bool inside = true;
    for (std::size_t k = 0; k < n; ++k) {
      if (held[k]) continue;
      const FitBounds& bounds = problem.parameters[k];
      const double to = x[k] + solved(index(k));
      step[k] = std::clamp(to, bounds.low, bounds.high) - x[k];
      if (to < bounds.low || to > bounds.high) {
        held[k] = true;
        inside = false;
      }
    }
    if (inside) break;
  }
  return step;
}

Vector sum_of(const Vector& a, const Vector& b) {
  Vector out = a;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += b[i];
  return out;
}

/// Of the data alone, on the parameters that are not pinned: covariance with a prior so wide that
/// it only keeps the matrix regular.
Matrix free_covariance(const Matrix& data, const std::vector<std::size_t>& free) {
  constexpr double kWide = 100;  // standard deviation: e^100
  Matrix out(index(free.size()), index(free.size()));
  for (std::size_t a = 0; a < free.size(); ++a) {
    for (std::size_t b = 0; b < free.size(); ++b)
      out(index(a), index(b)) = data(index(free[a]), index(free[b]));
    out(index(a), index(a)) += 1 / square(kWide);
  }
  return out.inverse();
}

/// Pins one parameter that the other free ones replace; false if there is none.
bool pin_replaceable(const Matrix& data, std::vector<Identified>& out) {
  constexpr double kCorrelation = 0.95;
  constexpr double kInflation = 1 / (1 - kCorrelation * kCorrelation);
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (out[k].verdict == Identified::Verdict::free) free.push_back(k);
  }
  const Matrix covariance = free_covariance(data, free);
  double worst = 0;
  std::size_t chosen = free.size();
  for (std::size_t a = 0; a < free.size(); ++a) {
    const double inflation = covariance(index(a), index(a)) * data(index(free[a]), index(free[a]));
    if (inflation < kInflation) continue;
    // Of those that replace each other, the one that the data say least of; of equals the last.
    if (out[free[a]].width_ratio < worst * (1 - 1e-9)) continue;
    worst = out[free[a]].width_ratio;
    chosen = a;
  }
  if (chosen == free.size()) return false;
  Identified& pinned = out[free[chosen]];
  pinned.verdict = Identified::Verdict::correlated;
  for (std::size_t b = 0; b < free.size(); ++b) {
    if (b == chosen) continue;
    const double correlation =
        covariance(index(chosen), index(b)) /
        std::sqrt(covariance(index(chosen), index(chosen)) * covariance(index(b), index(b)));
    if (std::abs(correlation) <= std::abs(pinned.correlation)) continue;
    pinned.correlation = correlation;
    pinned.other = free[b];
  }
  return true;
}

}  // namespace

double fit_cost(const FitProblem& problem, const Vector& x, const Vector& residuals) {
  double cost = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double size = std::abs(residuals[i]);
    const double loss =
        size <= problem.huber ? square(size) / 2 : problem.huber * (size - problem.huber / 2);
    cost += problem.weights[i] * loss / square(problem.noise);
  }
  for (std::size_t k = 0; k < x.size(); ++k) cost += square(x[k] / problem.parameters[k].width) / 2;
  return cost;
}

Vector linear_fit(const FitProblem& problem, const Vector& from, const Vector& at,
                  const Slopes& slopes) {
  constexpr int kRounds = 50;
  constexpr double kStill = 1e-6;
  Vector x = from;
  Vector residuals = at;
  for (int round = 0; round < kRounds; ++round) {
    const Vector weights = local_weights(problem, residuals);
    const Vector step = bounded_step(problem, x, with_prior(information(weights, slopes), problem),
                                     gradient(problem, x, residuals, weights, slopes));
    x = sum_of(x, step);
    for (std::size_t k = 0; k < x.size(); ++k) {
      for (std::size_t i = 0; i < residuals.size(); ++i) residuals[i] += slopes[k][i] * step[k];
    }
    if (std::ranges::all_of(step, [](double s) { return std::abs(s) < kStill; })) break;
  }
  return x;
}

Slopes difference_slopes(const std::function<Vector(const Vector& x)>& residuals, const Vector& x,
                         const Vector& at, const Vector& steps) {
  Slopes out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Vector moved = x;
    moved[i] += steps[i];
    Vector slope = residuals(moved);
    for (std::size_t j = 0; j < slope.size(); ++j) slope[j] = (slope[j] - at[j]) / steps[i];
    out.push_back(std::move(slope));
  }
  return out;
}

FitResult robust_fit(const FitProblem& problem, Vector at, Slopes slopes, Vector from) {
  constexpr int kRounds = 12, kTries = 4;
  constexpr double kGain = 0.002;  // of the cost, below which a round is the last
  FitResult out;
  out.x = from.empty() ? Vector(problem.parameters.size()) : std::move(from);
  out.residuals = std::move(at);
  out.slopes = std::move(slopes);
  out.cost = out.cost_before = fit_cost(problem, out.x, out.residuals);
  double damping = 0.01;
  while (out.rounds < kRounds) {
    const Vector weights = local_weights(problem, out.residuals);
    const Matrix curvature = with_prior(information(weights, out.slopes), problem);
    const Column downhill = gradient(problem, out.x, out.residuals, weights, out.slopes);
    const double before = out.cost;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      Matrix damped = curvature;
      damped.diagonal() *= 1 + damping;
      const Vector x = sum_of(out.x, bounded_step(problem, out.x, damped, downhill));
      Vector residuals = problem.residuals(x);
      const double cost = fit_cost(problem, x, residuals);
      if (cost < out.cost) {
        out.x = x;
        out.residuals = std::move(residuals);
        out.cost = cost;
        damping /= 5;
        break;
      }
      damping = std::max(10 * damping, 0.1);
    }
    ++out.rounds;
    if (out.cost == before) break;
    out.slopes = problem.slopes(out.x, out.residuals);
    if (out.cost > before * (1 - kGain)) break;
  }
  return out;
}

std::vector<Identified> identify(const FitProblem& problem, const Vector& at,
                                 const Slopes& slopes) {
  constexpr double kWeak = 0.9, kUntouched = 1e-12;
  const Matrix data = information(local_weights(problem, at), slopes);
  const Matrix posterior = with_prior(data, problem).inverse();
  std::vector<Identified> out(slopes.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto i = index(k);
    out[k].width_ratio = std::sqrt(posterior(i, i)) / problem.parameters[k].width;
    // Of itself alone: together with others it may still be the one that is kept.
    const double alone = 1 / std::sqrt(1 + data(i, i) * square(problem.parameters[k].width));
    if (data(i, i) < kUntouched) {
      out[k].verdict = Identified::Verdict::untouched;
    } else if (alone > kWeak) {
      out[k].verdict = Identified::Verdict::weak;
    }
  }
  while (pin_replaceable(data, out)) {
  }
  return out;
}

void keep_best(std::vector<Identified>& found, const std::vector<std::size_t>& these,
               std::size_t most) {
  std::vector<std::size_t> free;
  for (const std::size_t k : these) {
    if (found[k].verdict == Identified::Verdict::free) free.push_back(k);
  }
  std::ranges::stable_sort(free, {}, [&](std::size_t k) { return found[k].width_ratio; });
  for (std::size_t i = most; i < free.size(); ++i)
    found[free[i]].verdict = Identified::Verdict::crowded;
}

Vector fit_deviations(const FitProblem& problem, const Vector& residuals, const Slopes& slopes) {
  constexpr double kNormal = 1.4826;  // standard deviation / median absolute deviation
  Vector sizes;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (problem.weights[i] > 0) sizes.push_back(std::abs(residuals[i]));
  }
  const double scale = std::max(1.0, kNormal * upper_median(std::move(sizes)) / problem.noise);
  const Matrix covariance =
      with_prior(information(local_weights(problem, residuals), slopes), problem).inverse();
  Vector out(slopes.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    const double sd = std::sqrt(covariance(index(k), index(k))) * scale;
    out[k] = std::min(sd, problem.parameters[k].width);
  }
  return out;
}

}  // namespace fabricast
