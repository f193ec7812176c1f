#pragma once
// The costs of engines that bring predicted and measured serving runs together.

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/io/workloads/load_serving.hpp"
#include "models/studies/accuracy/robust_fit.hpp"

namespace fabricast {

/// Where a prior's figures are moved by factors exp(x), and x of a host.
EngineHost moved(const EnginePrior& prior, const Vector& x);
Vector logarithms(const EnginePrior& prior, const EngineHost& host);

/// Residuals (logarithms of predicted over measured) of an engine's rows.
using HostResiduals = std::function<Vector(const EngineHost& host)>;

/// Residuals of weight 0 have no say; nor have those of rows that measure something else: further
/// off than `kOtherRegime`.
inline constexpr double kOtherRegime = 0.5;  ///< as a logarithm: a factor of 1.65
Vector believed(Vector weights, const Vector& residuals);

/// Host and slopes of its figures there.
struct ServingSlopes {
  Vector x, at;
  Slopes slopes;
};
ServingSlopes linearised(const EnginePrior& prior, const EngineHost& host,
                         const HostResiduals& residuals);
/// The best figures if residuals were linear.
EngineHost linear_best(const EnginePrior& prior, const ServingSlopes& at, const Vector& weights);

/// The best figures, found from the prior on: a fit to all rows, then to those that it believes,
/// until these are the same. A queue makes more than one minimum: the lower of that one and of what
/// is found from `also_from` on.
EngineHost best_host(const EnginePrior& prior, const HostResiduals& residuals,
                     const Vector& weights, const std::optional<EngineHost>& also_from = {});

/// "engines.vllm.pass" -> "920 us"
std::map<std::string, std::string> figures_of(const ServingCosts& costs);

}  // namespace fabricast
