#include "models/studies/engines/cost_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

constexpr double kStep = 0.02;  // of a slope
constexpr double kWidth = 0.5;  // of the prior, as a logarithm
constexpr double kNoise = 0.1;
// Machines of one kind differ by a third, for reasons that their tables do not say: between them.
constexpr double kHuber = 0.3;

std::string us_text(Duration time) { return fmt::format("{:.3g} us", microseconds_of(time)); }

}  // namespace

CostParameter gpu_parameter(int sm, std::string_view name, Duration PeerGpu::*member) {
  return {fmt::format("gpus.sm{}.{}", sm, name),
          [=](EngineCosts& costs, double factor) {
            Duration& time = costs.gpus.at(sm).*member;
            time = scaled(time, factor);
          },
          [=](const EngineCosts& costs) { return us_text(costs.gpus.at(sm).*member); }};
}

CostParameter time_parameter(std::string name, Duration EngineCosts::*member) {
  return {std::move(name),
          [=](EngineCosts& costs, double factor) { costs.*member = scaled(costs.*member, factor); },
          [=](const EngineCosts& costs) { return us_text(costs.*member); }};
}

CostParameter number_parameter(std::string name, double EngineCosts::*member, double most) {
  return {std::move(name),
          [=](EngineCosts& costs, double factor) {
            costs.*member = std::min(costs.*member * factor, most);
          },
          [=](const EngineCosts& costs) { return fmt::format("{:.3g}", costs.*member); }};
}

EngineCosts fit_costs(const std::vector<CostParameter>& parameters, const EngineCosts& start,
                      const std::function<Vector(const EngineCosts&)>& residuals) {
  const auto at_factors = [&](const Vector& x) {
    EngineCosts out = start;
    for (std::size_t i = 0; i < x.size(); ++i) parameters[i].scale(out, std::exp(x[i]));
    return out;
  };
  FitProblem problem;
  problem.parameters.assign(parameters.size(), {-1, 1, kWidth});
  problem.noise = kNoise;
  problem.huber = kHuber;
  problem.residuals = [&](const Vector& x) { return residuals(at_factors(x)); };
  problem.slopes = [&](const Vector& x, const Vector& at) {
    return difference_slopes(problem.residuals, x, at, Vector(x.size(), kStep));
  };
  const Vector zero(parameters.size());
  const Vector at = problem.residuals(zero);
  problem.weights.assign(at.size(), 1);
  return at_factors(robust_fit(problem, at, problem.slopes(zero, at)).x);
}

}  // namespace fabricast
