#pragma once
// Costs of kernels of expert parallelism that bring predictions and measured phases together.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/experts/ep_ways.hpp"
#include "models/experts/routing.hpp"
#include "models/studies/experts/validate_experts.hpp"

namespace fabricast {

/// Predicts points again and again: clusters and drawn tokens are kept.
class ExpertsPredictor {
 public:
  ExpertsPredictor(const std::vector<ExpertsPoint>& points, const PartsCatalogue& parts);

  /// In microseconds, of those of the points, by place.
  std::vector<double> predict(const std::vector<std::size_t>& places, const ExpertKernels& kernels,
                              const ForEach& for_each) const;
  const ExpertsPoint& point(std::size_t place) const { return points_[place]; }
  int sm(std::size_t place) const;

 private:
  struct Machine {
    std::unique_ptr<Cluster> cluster;
    std::unique_ptr<EpWays> ways;
  };
  const std::vector<ExpertsPoint>& points_;
  std::map<std::string, Machine> machines_;
  std::vector<const Machine*> machine_of_;
};

/// The costs that fit these points best (models/studies/accuracy/robust_fit.hpp: residuals are
/// logarithms of predicted over measured times, those above 30 % count linearly, the prior is 50 %
/// around `start`), each phase of each mode by itself, on so many of its points as are affordable.
/// A generation of GPUs without a point takes what the nearest one with some has, on one node.
ExpertKernels fit_experts(const ExpertsPredictor& predictor, const std::vector<std::size_t>& places,
                          const ExpertKernels& start, const ForEach& for_each);

}  // namespace fabricast
