#include "models/studies/serving/serving_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabricast {
namespace {

constexpr double kStep = 0.05;  // of a slope
constexpr double kWidths = 4;   // of a prior, as far as a figure may go
constexpr int kTurns = 6;
constexpr double kRowNoise = 0.15;
constexpr double kRowHuber = 0.1;  // beyond it a row counts by its size, as for a median

/// Four digits, none of them in an exponent, so that it can be written into a file.
std::string microseconds_text(double seconds) {
  const double us = seconds * 1e6;
  return us < 1e3 ? fmt::format("{:.4g} us", us) : fmt::format("{:.0f} us", us);
}

FitProblem problem_of(const EnginePrior& prior, const Vector& weights) {
  FitProblem out;
  for (const EngineFigure& figure : kEngineFigures) {
    const double width = std::log(prior.within.*figure.member);
    out.parameters.push_back({-kWidths * width, kWidths * width, width});
  }
  out.weights = weights;
  out.noise = kRowNoise;
  out.huber = kRowHuber;
  return out;
}

Slopes slopes_at(const EnginePrior& prior, const HostResiduals& residuals, const Vector& x,
                 const Vector& at) {
  return difference_slopes([&](const Vector& to) { return residuals(moved(prior, to)); }, x, at,
                           Vector(x.size(), kStep));
}

/// Where a fit ends, and what it costs with rows that have no say at the edge of having one.
struct FitEnd {
  Vector x;
  double cost = 0;
};
/// By the rows that `problem` believes first, then by those of `weights` that each turn believes.
FitEnd fitted_from(FitProblem problem, const Vector& weights, const Vector& begin) {
  Vector at = problem.residuals(begin);
  Slopes slopes = problem.slopes(begin, at);
  FitResult fit = robust_fit(problem, std::move(at), std::move(slopes), begin);
  for (int turn = 0; turn < kTurns; ++turn) {
    Vector kept = believed(weights, fit.residuals);
    if (kept == problem.weights) break;
    problem.weights = std::move(kept);
    fit = robust_fit(problem, std::move(fit.residuals), std::move(fit.slopes), std::move(fit.x));
  }
  for (double& one : fit.residuals) one = std::clamp(one, -kOtherRegime, kOtherRegime);
  problem.weights = weights;
  return {fit.x, fit_cost(problem, fit.x, fit.residuals)};
}

}  // namespace

EngineHost moved(const EnginePrior& prior, const Vector& x) {
  EngineHost out;
  for (std::size_t i = 0; i < kEngineFigures.size(); ++i) {
    const auto member = kEngineFigures[i].member;
    out.*member = prior.value.*member * std::exp(x[i]);
  }
  return out;
}

Vector logarithms(const EnginePrior& prior, const EngineHost& host) {
  Vector out;
  for (const EngineFigure& figure : kEngineFigures)
    out.push_back(std::log(host.*figure.member / prior.value.*figure.member));
  return out;
}

Vector believed(Vector weights, const Vector& residuals) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (std::abs(residuals[i]) > kOtherRegime) weights[i] = 0;
  return weights;
}

ServingSlopes linearised(const EnginePrior& prior, const EngineHost& host,
                         const HostResiduals& residuals) {
  ServingSlopes out;
  out.x = logarithms(prior, host);
  out.at = residuals(host);
  out.slopes = slopes_at(prior, residuals, out.x, out.at);
  return out;
}

EngineHost linear_best(const EnginePrior& prior, const ServingSlopes& at, const Vector& weights) {
  return moved(prior, linear_fit(problem_of(prior, weights), at.x, at.at, at.slopes));
}

EngineHost best_host(const EnginePrior& prior, const HostResiduals& residuals,
                     const Vector& weights, const std::optional<EngineHost>& also_from) {
  FitProblem problem = problem_of(prior, weights);
  problem.residuals = [&](const Vector& x) { return residuals(moved(prior, x)); };
  problem.slopes = [&](const Vector& x, const Vector& at) {
    return slopes_at(prior, residuals, x, at);
  };
  const FitEnd best = fitted_from(problem, weights, Vector(kEngineFigures.size()));
  if (!also_from) return moved(prior, best.x);
  problem.weights = believed(weights, residuals(*also_from));
  const FitEnd other = fitted_from(problem, weights, logarithms(prior, *also_from));
  return moved(prior, other.cost < best.cost ? other.x : best.x);
}

std::map<std::string, std::string> figures_of(const ServingCosts& costs) {
  std::map<std::string, std::string> out;
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
    for (const EngineFigure& figure : kEngineFigures) {
      const double value = costs.of(engine).*figure.member;
      out[fmt::format("engines.{}.{}", kEngineWords[engine], figure.name)] =
          figure.is_time ? microseconds_text(value) : fmt::format("{:.3g}", value);
    }
  }
  return out;
}

}  // namespace fabricast
