#pragma once
// Fits figures of workloads/engines.yaml to measured times. Which figures, and what predicts the
// times, is the caller's.

#include <functional>
#include <string>
#include <vector>

#include "models/engines/engine_costs.hpp"
#include "models/studies/accuracy/robust_fit.hpp"

namespace fabricast {

/// A figure that a factor moves.
struct CostParameter {
  std::string name;  ///< as workloads/engines.yaml has it: "kernels.node"
  std::function<void(EngineCosts&, double)> scale;
  std::function<std::string(const EngineCosts&)> text;  ///< "0.674 us"
};

/// Of one generation.
CostParameter gpu_parameter(int sm, std::string_view name, Duration PeerGpu::*member);
CostParameter time_parameter(std::string name, Duration EngineCosts::*member);
/// No factor takes it above `most`.
CostParameter number_parameter(std::string name, double EngineCosts::*member, double most);

/// The costs that fit best (models/studies/accuracy/robust_fit.hpp). `residuals`: logarithms of
/// predicted over measured times; those above 30 % count linearly. The prior is 50 % around
/// `start`.
EngineCosts fit_costs(const std::vector<CostParameter>& parameters, const EngineCosts& start,
                      const std::function<Vector(const EngineCosts&)>& residuals);

}  // namespace fabricast
