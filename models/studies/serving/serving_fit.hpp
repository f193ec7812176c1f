#pragma once
// The costs of engines that bring predicted and measured serving runs together.

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/io/workloads/load_serving.hpp"
#include "models/studies/accuracy/robust_fit.hpp"

namespace fabricast {

/// A factor for each figure of an engine in workloads/serving.yaml, as logarithms.
inline constexpr std::array<double EngineHost::*, 9> kHostFigures = {
    &EngineHost::pass,      &EngineHost::request,     &EngineHost::front,
    &EngineHost::token,     &EngineHost::kernel,      &EngineHost::gemm,
    &EngineHost::attention, &EngineHost::elementwise, &EngineHost::communication};
inline constexpr std::array<std::string_view, 9> kHostFigureNames = {
    "pass", "request",   "front",       "token",        "kernel",
    "gemm", "attention", "elementwise", "communication"};
inline constexpr std::size_t kHostTimes = 5;  ///< of them; the rest are factors

EngineHost scaled(const EngineHost& host, const Vector& x);

/// Residuals (logarithms of predicted over measured) of rows when engine figures are scaled by
/// exp(x): all engines by the same x.
using ServingResiduals = std::function<Vector(const Vector& x)>;

struct ServingFit {
  Vector at;      ///< residuals at the shipped costs
  Slopes slopes;  ///< by figure
};
ServingFit linearised(const ServingResiduals& residuals);

/// The best factors for residuals of weight 1; others have 0. Prior: 40 % around 1, kernels 15 %.
Vector best_factors(const ServingFit& fit, const Vector& weights);

/// "engines.vllm.pass" -> "920 us"
std::map<std::string, std::string> figures_of(const ServingCosts& costs);

}  // namespace fabricast
