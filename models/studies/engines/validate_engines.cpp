#include "models/studies/engines/validate_engines.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "models/engines/engine_run.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/engines/engine_fit.hpp"
#include "models/studies/errors/leave_out.hpp"

namespace fabricast {
namespace {

class Validation {
 public:
  Validation(ValidateEnginesConfig config, const PartsCatalogue& parts, const ForEach& for_each)
      : parts_(parts), for_each_(for_each) {
    out_.config = std::move(config);
  }

  ValidateEnginesResult run() {
    for (std::size_t i = 0; i < out_.config.measured.rows.size(); ++i) add(i);
    const std::vector<double> times =
        predict_engines(clusters_, points_, out_.config.costs, for_each_);
    for (std::size_t i = 0; i < times.size(); ++i) out_.predictions[i].time_us = times[i];
    if (out_.config.leave_out) leave_out();
    if (out_.config.fit) {
      std::vector<std::size_t> all(points_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      out_.fitted = fitted_figures(fit(all));
    }
    return std::move(out_);
  }

 private:
  void add(std::size_t number) {
    const EngineRow& row = out_.config.measured.rows[number];
    const std::size_t place = place_of(row);
    const Cluster& cluster = clusters_[place];
    const int gpus = static_cast<int>(cluster.node().gpus().size());
    if (row.gpus > gpus) {
      ++out_.left_out[fmt::format("{} has {} GPUs only", row.topology, gpus)];
      return;
    }
    constexpr int kElement = 2;  // bfloat16
    const EngineQuestion question =
        question_of(row.release, cluster, Members::first(1, row.gpus), row.size, true, kElement);
    const EngineKernel kernel = choose_kernel(question).kernel;
    if (kernel == EngineKernel::nccl) {
      ++out_.left_to_nccl;
      return;
    }
    points_.push_back({place,
                       row.system,
                       question.sm,
                       row.gpus,
                       {row.release, kernel, row.size, row.cuda_graph},
                       row.time_us});
    out_.predictions.push_back({number, kernel, 0, {}});
  }

  std::size_t place_of(const EngineRow& row) {
    const auto [known, is_new] = places_.try_emplace(row.topology, clusters_.size());
    if (!is_new) return known->second;
    try {
      NodesRequest one;
      one.nodes = 1;
      clusters_.push_back(Topology(row.topology, "", parts_).cluster(one));
    } catch (const Error& error) {
      throw error.with(row.place);
    }
    return known->second;
  }

  /// Python's calls say nothing of kernels.
  EngineCosts fit(const std::vector<std::size_t>& seen) const {
    std::vector<EnginePoint> points;
    for (const std::size_t i : seen)
      if (points_[i].call.cuda_graph) points.push_back(points_[i]);
    return fit_engines(clusters_, points, out_.config.costs, for_each_);
  }

  void leave_out() {
    const auto system_of = [&](std::size_t i) { return points_[i].system; };
    for (const auto& [system, seen, unseen] : leave_each_out(points_.size(), system_of)) {
      std::vector<EnginePoint> points;
      for (const std::size_t i : unseen) points.push_back(points_[i]);
      const std::vector<double> times = predict_engines(clusters_, points, fit(seen), for_each_);
      for (std::size_t i = 0; i < unseen.size(); ++i)
        out_.predictions[unseen[i]].unseen_us = times[i];
    }
  }

  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  ValidateEnginesResult out_;
  std::map<std::string, std::size_t> places_;  ///< by topology
  std::vector<Cluster> clusters_;
  std::vector<EnginePoint> points_;  ///< by prediction
};

}  // namespace

ValidateEnginesResult run_validate_engines(ValidateEnginesConfig config,
                                           const PartsCatalogue& parts, const ForEach& for_each) {
  return Validation(std::move(config), parts, for_each).run();
}

}  // namespace fabricast
