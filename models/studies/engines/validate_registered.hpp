#pragma once
// The study behind `fabricast validate registered`: times of NCCL's symmetric kernels that somebody
// measured, and what is predicted for them. Config, code, result and text.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/engines/engine_costs.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/report/report.hpp"
#include "models/studies/engines/registered_rows.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

struct ValidateRegisteredConfig {
  std::vector<RegisteredRow> measured;
  EngineCosts costs;
  bool leave_out = false;  ///< predict each topology by a fit that has not seen it, too
  bool fit = false;        ///< and say what a fit to all rows gives
};

struct RegisteredPrediction {
  std::size_t row = 0;  ///< of the measured ones
  int blocks = 0;
  double time_us = 0;
  /// By figures of these kernels alone, fitted to the other topologies. Hops, loads and shares of
  /// links stay: they come from kernels of engines.
  std::optional<double> unseen_us;
};

struct ValidateRegisteredResult {
  ValidateRegisteredConfig config;
  std::vector<RegisteredPrediction> predictions;  ///< by row
  std::map<std::string, std::string> fitted;      ///< with `fit`: figures of workloads/engines.yaml
};

/// Throws Error for what no topology is, or where NVLink does not join so many GPUs.
ValidateRegisteredResult run_validate_registered(ValidateRegisteredConfig config,
                                                 const PartsCatalogue& parts,
                                                 const ForEach& for_each);

std::string validate_registered_text(const ValidateRegisteredResult& result);
Report validate_registered_report(const ValidateRegisteredResult& result);

}  // namespace fabricast
