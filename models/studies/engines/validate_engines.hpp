#pragma once
// The study behind `fabricast validate engines`: all-reduces of inference engines that somebody
// measured, and what is predicted for them. Config, code, result and text.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/engines/engine_costs.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/report/report.hpp"
#include "models/studies/engines/engine_rows.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

struct ValidateEnginesConfig {
  EngineRows measured;
  EngineCosts costs;
  bool leave_out = false;  ///< predict each system by a fit that has not seen it, too
  bool fit = false;        ///< and say what a fit to all rows gives
};

struct EnginePrediction {
  std::size_t row = 0;  ///< of the measured ones
  EngineKernel kernel{};
  double time_us = 0;
  std::optional<double> unseen_us;  ///< by a fit that has not seen the system
};

struct ValidateEnginesResult {
  ValidateEnginesConfig config;
  std::vector<EnginePrediction> predictions;  ///< of rows that an engine's kernel runs
  int left_to_nccl = 0;                       ///< rows that the engine leaves to NCCL
  std::map<std::string, int> left_out;        ///< by reason
  std::map<std::string, std::string> fitted;  ///< with `fit`: figures of workloads/engines.yaml
};

/// Throws Error for what no topology is.
ValidateEnginesResult run_validate_engines(ValidateEnginesConfig config,
                                           const PartsCatalogue& parts, const ForEach& for_each);

std::string validate_engines_text(const ValidateEnginesResult& result);
Report validate_engines_report(const ValidateEnginesResult& result);

}  // namespace fabricast
