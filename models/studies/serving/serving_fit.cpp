#include "models/studies/serving/serving_fit.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fabricast {
namespace {

constexpr double kStep = 0.05;      // of a slope
constexpr double kHostWidth = 0.7;  // of the prior, as a logarithm
constexpr double kKernelWidth = 0.25;
constexpr double kRowNoise = 0.15;
constexpr double kRowHuber = 0.2;  // repeats of a setting differ by as much and more

/// Four digits, none of them in an exponent, so that it can be written into a file.
std::string microseconds_text(double seconds) {
  const double us = seconds * 1e6;
  return us < 1e3 ? fmt::format("{:.4g} us", us) : fmt::format("{:.0f} us", us);
}

}  // namespace

EngineHost scaled(const EngineHost& host, const Vector& x) {
  EngineHost out = host;
  for (std::size_t i = 0; i < kHostFigures.size(); ++i) out.*kHostFigures[i] *= std::exp(x[i]);
  return out;
}

ServingFit linearised(const ServingResiduals& residuals) {
  ServingFit out;
  const Vector zero(kHostFigures.size());
  out.at = residuals(zero);
  out.slopes = difference_slopes(residuals, zero, out.at, Vector(zero.size(), kStep));
  return out;
}

Vector best_factors(const ServingFit& fit, const Vector& weights) {
  FitProblem problem;
  for (std::size_t i = 0; i < kHostFigures.size(); ++i)
    problem.parameters.push_back({-1.5, 1.5, i < kHostTimes ? kHostWidth : kKernelWidth});
  problem.weights = weights;
  problem.noise = kRowNoise;
  problem.huber = kRowHuber;
  return linear_fit(problem, Vector(kHostFigures.size()), fit.at, fit.slopes);
}

std::map<std::string, std::string> figures_of(const ServingCosts& costs) {
  std::map<std::string, std::string> out;
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
    for (std::size_t i = 0; i < kHostFigures.size(); ++i) {
      const double value = costs.of(engine).*kHostFigures[i];
      out[fmt::format("engines.{}.{}", kEngineWords[engine], kHostFigureNames[i])] =
          i < kHostTimes ? microseconds_text(value) : fmt::format("{:.3g}", value);
    }
  }
  return out;
}

}  // namespace fabricast
