#include "models/studies/engines/engine_fit.hpp"

#include <cmath>
#include <set>
#include <tuple>

#include "models/studies/engines/cost_fit.hpp"

namespace fabricast {
namespace {

constexpr double kLoadsMax = 1.2;  // a link has more than stores of NCCL reach

std::vector<CostParameter> parameters_of(const std::set<int>& generations) {
  std::vector<CostParameter> out;
  for (const int sm : generations) {
    out.push_back(gpu_parameter(sm, "hop", &PeerGpu::hop));
    out.push_back(gpu_parameter(sm, "load", &PeerGpu::load));
  }
  out.push_back(time_parameter("kernels.node", &EngineCosts::node));
  out.push_back(time_parameter("kernels.copy", &EngineCosts::copy));
  out.push_back(time_parameter("kernels.peer", &EngineCosts::peer));
  out.push_back(time_parameter("kernels.turn", &EngineCosts::turn));
  out.push_back(number_parameter("kernels.loads", &EngineCosts::loads, kLoadsMax));
  out.push_back(number_parameter("kernels.stores", &EngineCosts::stores, 1));
  out.push_back(number_parameter("kernels.multimem", &EngineCosts::multimem, 1));
  out.push_back(number_parameter("kernels.pull_window", &EngineCosts::pull_window, 100));
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
  }

  EngineCosts run() {
    return derive(fit_costs(parameters_of(seen_), start_, [this](const EngineCosts& costs) {
      Vector out = predict_engines(clusters_, points_, costs, for_each_);
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = std::log(out[i] / points_[i].measured_us);
      return out;
    }));
  }

 private:
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
  for (const CostParameter& one : parameters_of(all)) out[one.name] = one.text(costs);
  return out;
}

}  // namespace fabricast
