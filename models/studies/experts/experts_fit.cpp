#include "models/studies/experts/experts_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/experts/ep_run.hpp"
#include "models/hardware/cluster/gpus_used.hpp"
#include "models/studies/accuracy/robust_fit.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

constexpr double kWidth = 0.5;  // of the prior, as a logarithm
constexpr double kNoise = 0.1, kHuber = 0.3;
constexpr double kStep = 0.02;          // of a slope
constexpr double kShareMax = 1.2;       // of a link: wider stores than NCCL's
constexpr std::size_t kPointsMax = 80;  // of a system, mode and phase

using Scale = std::function<void(PhaseCosts&, double)>;

Scale of_time(Duration PhaseCosts::*member) {
  return [=](PhaseCosts& costs, double factor) { costs.*member = scaled(costs.*member, factor); };
}
Scale of_work(TokenWork PhaseCosts::*work, Duration TokenWork::*member) {
  return [=](PhaseCosts& costs, double factor) {
    Duration& time = costs.*work.*member;
    time = scaled(time, factor);
  };
}
Scale of_rate(TokenWork PhaseCosts::*work, Bandwidth TokenWork::*member) {
  return [=](PhaseCosts& costs, double factor) {
    Bandwidth& rate = costs.*work.*member;
    rate = {std::llround(static_cast<double>(rate.bytes_per_s) * factor)};
  };
}
Scale of_number(double PhaseCosts::*member, double most) {
  return [=](PhaseCosts& costs, double factor) {
    costs.*member = std::min(costs.*member * factor, most);
  };
}

/// What is fitted of a phase; figures that are 0 stay so.
const std::vector<Scale>& scales() {
  static const std::vector<Scale> all = {
      of_time(&PhaseCosts::start),
      of_number(&PhaseCosts::start_hops, 100),
      of_work(&PhaseCosts::send, &TokenWork::token),
      of_rate(&PhaseCosts::send, &TokenWork::token_rate),
      of_work(&PhaseCosts::send, &TokenWork::copy),
      of_rate(&PhaseCosts::send, &TokenWork::rate),
      of_rate(&PhaseCosts::receive, &TokenWork::token_rate),
      of_rate(&PhaseCosts::receive, &TokenWork::rate),
      of_number(&PhaseCosts::nvlink_share, kShareMax),
      of_time(&PhaseCosts::expert_flag),
  };
  return all;
}
constexpr std::size_t kOfAllGenerations = 2;  // scales: a start of hops is one for all of them

/// One phase of one mode.
class PhaseFit {
 public:
  PhaseFit(const ExpertsPredictor& predictor, std::vector<std::size_t> places, EpMode mode,
           EpPhase phase, ExpertKernels& kernels, const ForEach& for_each)
      : predictor_(predictor),
        places_(std::move(places)),
        mode_(mode),
        phase_(phase),
        kernels_(kernels),
        for_each_(for_each) {}

  void run() {
    find_generations();
    take_nearest();
    if (places_.empty()) return;
    add_parameters();
    FitProblem problem;
    problem.parameters.assign(parameters_.size(), {-1, 1, kWidth});
    problem.weights.assign(places_.size(), 1);
    problem.noise = kNoise;
    problem.huber = kHuber;
    problem.residuals = [this](const Vector& x) { return residuals(x); };
    problem.slopes = [this](const Vector& x, const Vector& at) {
      return difference_slopes([this](const Vector& moved) { return residuals(moved); }, x, at,
                               Vector(x.size(), kStep));
    };
    const Vector zero(parameters_.size());
    const Vector at = residuals(zero);
    kernels_ = at_factors(robust_fit(problem, at, problem.slopes(zero, at)).x);
    take_nearest();
  }

 private:
  struct Parameter {
    std::vector<std::size_t> generations;  ///< that it moves
    const Scale* scale;
  };

  std::vector<ModeCosts>& costs(ExpertKernels& of) const {
    return of.modes[static_cast<std::size_t>(mode_)];
  }
  PhaseCosts& phase(ExpertKernels& of, std::size_t generation) const {
    return costs(of)[generation].phases[static_cast<std::size_t>(phase_)];
  }

  void find_generations() {
    const std::vector<ModeCosts>& all = costs(kernels_);
    seen_.assign(all.size(), false);
    for (const std::size_t place : places_) {
      const ModeCosts& one = kernels_.of(mode_, predictor_.sm(place));
      seen_[static_cast<std::size_t>(&one - all.data())] = true;
    }
  }

  /// Costs on one node, from a generation that somebody measured.
  void take_nearest() {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i]) continue;
      std::size_t from = seen_.size();
      for (std::size_t other = 0; other < seen_.size(); ++other)
        if (seen_[other] && (from == seen_.size() || other < i)) from = other;
      if (from == seen_.size()) return;
      PhaseCosts& to = phase(kernels_, i);
      const PhaseCosts before = to;
      to = phase(kernels_, from);
      to.net_start = before.net_start;
      to.net_doubling = before.net_doubling;
      to.net_flag = before.net_flag;
      to.notify = before.notify;
      to.notify_doubling = before.notify_doubling;
    }
  }

  void add_parameters() {
    const std::vector<Scale>& all = scales();
    std::vector<std::size_t> every;
    for (std::size_t i = 0; i < seen_.size(); ++i) every.push_back(i);
    const bool by_hops = phase(kernels_, 0).start_hops > 0;
    for (std::size_t number = 0; number < all.size(); ++number) {
      if (by_hops && number < kOfAllGenerations) {
        parameters_.push_back({every, &all[number]});
        continue;
      }
      for (std::size_t i = 0; i < seen_.size(); ++i) {
        PhaseCosts moved = phase(kernels_, i);
        all[number](moved, 0.5);
        if (seen_[i] && !same(moved, phase(kernels_, i)))
          parameters_.push_back({{i}, &all[number]});
      }
    }
  }

  static bool same(const PhaseCosts& a, const PhaseCosts& b) {
    const auto works = [](const TokenWork& w) {
      return std::tuple(w.token.ps, w.token_rate.bytes_per_s, w.copy.ps, w.rate.bytes_per_s);
    };
    return a.start == b.start && a.start_hops == b.start_hops && works(a.send) == works(b.send) &&
           works(a.receive) == works(b.receive) && a.nvlink_share == b.nvlink_share &&
           a.expert_flag == b.expert_flag;
  }

  ExpertKernels at_factors(const Vector& x) const {
    ExpertKernels out = kernels_;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (const std::size_t generation : parameters_[i].generations)
        (*parameters_[i].scale)(phase(out, generation), std::exp(x[i]));
    return out;
  }

  Vector residuals(const Vector& x) const {
    Vector out = predictor_.predict(places_, at_factors(x), for_each_);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::log(out[i] / predictor_.point(places_[i]).measured_us);
    return out;
  }

  const ExpertsPredictor& predictor_;
  std::vector<std::size_t> places_;
  EpMode mode_;
  EpPhase phase_;
  ExpertKernels& kernels_;
  const ForEach& for_each_;
  std::vector<bool> seen_;  ///< by generation
  std::vector<Parameter> parameters_;
};

/// Evenly over a list.
std::vector<std::size_t> thinned(const std::vector<std::size_t>& all) {
  if (all.size() <= kPointsMax) return all;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < kPointsMax; ++i) out.push_back(all[i * all.size() / kPointsMax]);
  return out;
}

}  // namespace

ExpertsPredictor::ExpertsPredictor(const std::vector<ExpertsPoint>& points,
                                   const PartsCatalogue& parts)
    : points_(points) {
  for (const ExpertsPoint& point : points) {
    Machine& machine =
        machines_[fmt::format("{} {} {}", point.topology, point.nodes, point.gpus_per_node)];
    if (!machine.cluster) {
      Job job;
      job.topology = point.topology;
      job.gpus_per_node = point.gpus_per_node;
      machine.cluster = std::make_unique<Cluster>(load_cluster(job, point.nodes, parts));
      machine.ways = std::make_unique<EpWays>(*machine.cluster,
                                              gpus_used(*machine.cluster, point.gpus_per_node));
    }
    machine_of_.push_back(&machine);
  }
}

int ExpertsPredictor::sm(std::size_t place) const {
  return machine_of_[place]->cluster->node().gpus().front().part.sm;
}

std::vector<double> ExpertsPredictor::predict(const std::vector<std::size_t>& places,
                                              const ExpertKernels& kernels,
                                              const ForEach& for_each) const {
  std::vector<double> out(places.size());
  for_each(places.size(), [&](std::size_t i) {
    const ExpertsPoint& point = points_[places[i]];
    const EpWays& ways = *machine_of_[places[i]]->ways;
    const TokenCounts counts = count_tokens(point.call, ways.ranks(), ways.gpus());
    const EpResult result =
        run_ep_kernels(ways, kernels, point.call, point.mode, point.phase, counts);
    Duration time = result.time;
    if (point.notifies_alone) time = result.notify;
    if (point.without_notify) time = time - result.notify;
    out[i] = microseconds_of(time);
  });
  return out;
}

ExpertKernels fit_experts(const ExpertsPredictor& predictor, const std::vector<std::size_t>& places,
                          const ExpertKernels& start, const ForEach& for_each) {
  std::map<std::pair<EpMode, EpPhase>, std::map<std::string, std::vector<std::size_t>>> groups;
  for (const std::size_t place : places) {
    const ExpertsPoint& point = predictor.point(place);
    if (!point.notifies_alone && point.nodes == 1)
      groups[{point.mode, point.phase}][point.system].push_back(place);
  }
  ExpertKernels out = start;
  for (const auto& [group, systems] : groups) {
    std::vector<std::size_t> taken;
    for (const auto& [system, all] : systems)
      std::ranges::copy(thinned(all), std::back_inserter(taken));
    PhaseFit(predictor, std::move(taken), group.first, group.second, out, for_each).run();
  }
  return out;
}

}  // namespace fabricast
