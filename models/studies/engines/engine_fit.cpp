#include "models/studies/engines/engine_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "models/studies/accuracy/robust_fit.hpp"

namespace fabricast {
namespace {

constexpr double kLoadsMax = 1.2;  // a link has more than stores of NCCL reach
constexpr double kStep = 0.02;     // of a slope
constexpr double kWidth = 0.5;     // of the prior, as a logarithm
constexpr double kNoise = 0.1;
// Machines of one kind differ by a third, for reasons that their tables do not say: between them.
constexpr double kHuber = 0.3;

/// A figure that a factor moves.
struct Parameter {
  std::string name;
  std::function<void(EngineCosts&, double)> scale;
  std::function<std::string(const EngineCosts&)> text;
};

Duration times(Duration time, double factor) {
  return {std::llround(static_cast<double>(time.ps) * factor)};
}
std::string us_text(Duration time) { return fmt::format("{:.3g} us", microseconds_of(time)); }

Parameter time_parameter(std::string name, Duration EngineCosts::*member) {
  return {std::move(name),
          [=](EngineCosts& costs, double factor) { costs.*member = times(costs.*member, factor); },
          [=](const EngineCosts& costs) { return us_text(costs.*member); }};
}
Parameter number_parameter(std::string name, double EngineCosts::*member, double most) {
  return {std::move(name),
          [=](EngineCosts& costs, double factor) {
            costs.*member = std::min(costs.*member * factor, most);
          },
          [=](const EngineCosts& costs) { return fmt::format("{:.3g}", costs.*member); }};
}
Parameter gpu_parameter(int sm, std::string_view name, Duration PeerGpu::*member) {
  return {fmt::format("gpus.sm{}.{}", sm, name),
          [=](EngineCosts& costs, double factor) {
            Duration& time = costs.gpus.at(sm).*member;
            time = times(time, factor);
          },
          [=](const EngineCosts& costs) { return us_text(costs.gpus.at(sm).*member); }};
}

std::vector<Parameter> parameters_of(const std::set<int>& generations) {
  std::vector<Parameter> out;
  for (const int sm : generations) {
    out.push_back(gpu_parameter(sm, "hop", &PeerGpu::hop));
    out.push_back(gpu_parameter(sm, "load", &PeerGpu::load));
  }
  out.push_back(time_parameter("kernels.node", &EngineCosts::node));
  out.push_back(time_parameter("kernels.copy", &EngineCosts::copy));
  out.push_back(time_parameter("kernels.peer", &EngineCosts::peer));
  out.push_back(number_parameter("kernels.loads", &EngineCosts::loads, kLoadsMax));
  out.push_back(number_parameter("kernels.stores", &EngineCosts::stores, 1));
  out.push_back(number_parameter("kernels.multimem", &EngineCosts::multimem, 1));
  out.push_back(number_parameter("kernels.pull_window", &EngineCosts::pull_window, 100));
  out.push_back(number_parameter("kernels.scatter_window", &EngineCosts::scatter_window, 100));
  out.push_back(time_parameter("kernels.lamport_body", &EngineCosts::lamport_body));
  out.push_back(time_parameter("kernels.sglang_body", &EngineCosts::sglang_body));
  return out;
}

/// That of the costs whose figures the GPU takes.
int generation_of(const EngineCosts& costs, int sm) {
  const auto later = costs.gpus.upper_bound(sm);
  return later == costs.gpus.begin() ? later->first : std::prev(later)->first;
}

class Fit {
 public:
  Fit(std::span<const Cluster> clusters, const std::vector<EnginePoint>& points,
      const EngineCosts& start, const ForEach& for_each)
      : clusters_(clusters), points_(points), start_(start), for_each_(for_each) {
    for (const EnginePoint& point : points) seen_.insert(generation_of(start, point.sm));
    parameters_ = parameters_of(seen_);
  }

  EngineCosts run() {
    FitProblem problem;
    problem.parameters.assign(parameters_.size(), {-1, 1, kWidth});
    problem.weights.assign(points_.size(), 1);
    problem.noise = kNoise;
    problem.huber = kHuber;
    problem.residuals = [this](const Vector& x) { return residuals(x); };
    problem.slopes = [this](const Vector& x, const Vector& at) { return slopes(x, at); };
    const Vector zero(parameters_.size());
    const Vector at = residuals(zero);
    return derive(at_factors(robust_fit(problem, at, slopes(zero, at)).x));
  }

 private:
  EngineCosts at_factors(const Vector& x) const {
    EngineCosts out = start_;
    for (std::size_t i = 0; i < x.size(); ++i) parameters_[i].scale(out, std::exp(x[i]));
    return out;
  }

  Vector residuals(const Vector& x) const {
    Vector out = predict_engines(clusters_, points_, at_factors(x), for_each_);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log(out[i] / points_[i].measured_us);
    return out;
  }

  Slopes slopes(const Vector& x, const Vector& at) const {
    return difference_slopes([this](const Vector& moved) { return residuals(moved); }, x, at,
                             Vector(x.size(), kStep));
  }

  EngineCosts derive(EngineCosts costs) const {
    for (auto& [sm, gpu] : costs.gpus) {
      if (seen_.contains(sm) || seen_.empty()) continue;
      const auto newer = seen_.upper_bound(sm);
      const int from = newer == seen_.begin() ? *newer : *std::prev(newer);
      gpu = derived(costs.gpus.at(from), gpu.clock_GHz, gpu.local);
    }
    return costs;
  }

  std::span<const Cluster> clusters_;
  const std::vector<EnginePoint>& points_;
  const EngineCosts& start_;
  const ForEach& for_each_;
  std::set<int> seen_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::vector<double> predict_engines(std::span<const Cluster> clusters,
                                    const std::vector<EnginePoint>& points,
                                    const EngineCosts& costs, const ForEach& for_each) {
  using Key = std::tuple<std::size_t, int, EngineKernel, std::int64_t, bool, Engine>;
  std::map<Key, std::size_t> known;
  std::vector<std::size_t> place(points.size()), first;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const EnginePoint& one = points[i];
    const auto [at, is_new] =
        known.try_emplace({one.place, one.gpus, one.call.kernel, one.call.size.count,
                           one.call.cuda_graph, one.call.release.engine},
                          first.size());
    if (is_new) first.push_back(i);
    place[i] = at->second;
  }
  std::vector<double> times(first.size()), out(points.size());
  for_each(first.size(), [&](std::size_t i) {
    const EnginePoint& one = points[first[i]];
    times[i] = microseconds_of(
        simulate_engine(clusters[one.place], Members::first(1, one.gpus), costs, one.call).time);
  });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = times[place[i]];
  return out;
}

EngineCosts fit_engines(std::span<const Cluster> clusters, const std::vector<EnginePoint>& points,
                        const EngineCosts& start, const ForEach& for_each) {
  return Fit(clusters, points, start, for_each).run();
}

std::map<std::string, std::string> fitted_figures(const EngineCosts& costs) {
  std::set<int> all;
  for (const auto& [sm, gpu] : costs.gpus) all.insert(sm);
  std::map<std::string, std::string> out;
  for (const Parameter& one : parameters_of(all)) out[one.name] = one.text(costs);
  return out;
}

}  // namespace fabricast
