#pragma once
// Measured calls of engines' kernels beside predicted ones, and the costs that bring them together.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/engines/engine_run.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// A call that a kernel of an engine runs, in a CUDA graph or not.
struct EnginePoint {
  std::size_t place = 0;  ///< in the clusters
  std::string system;
  int sm = 0;
  int gpus = 0;
  EngineCall call;
  double measured_us = 0;
};

/// By point, in microseconds. Equal calls are simulated once.
std::vector<double> predict_engines(std::span<const Cluster> clusters,
                                    const std::vector<EnginePoint>& points,
                                    const EngineCosts& costs, const ForEach& for_each);

/// The costs that fit the points best (models/studies/accuracy/robust_fit.hpp: residuals are
/// logarithms of predicted over measured times, those above 30 % count linearly, and the prior is
/// 50 % around `start`). A generation of GPUs of which there is no point takes as many cycles as
/// the nearest older one that has some, else the nearest newer one. REQUIRES: points launched by
/// CUDA graphs.
EngineCosts fit_engines(std::span<const Cluster> clusters, const std::vector<EnginePoint>& points,
                        const EngineCosts& start, const ForEach& for_each);

/// The fitted figures by name, as workloads/engines.yaml has them: "gpus.sm90.hop" -> "0.76 us".
std::map<std::string, std::string> fitted_figures(const EngineCosts& costs);

}  // namespace fabricast
