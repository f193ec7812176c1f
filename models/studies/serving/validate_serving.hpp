#pragma once
// The study behind `fabricast validate serving`: published runs of inference engines, and what is
// predicted for them.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/serving/engine_model.hpp"
#include "models/studies/serving/serving_rows.hpp"

namespace fabricast {

struct ServingFigures {
  double first_token = 0, token = 0;  ///< seconds, as the row has them
  double output_per_s = 0;            ///< tokens, of all GPUs
};

struct ServingPrediction {
  std::size_t row = 0;
  ServingFigures shipped;
  std::optional<ServingFigures> unseen;  ///< by costs fitted without the row's model
  ServeTime decode;                      ///< kernels of a pass that decodes them all, no prompts
};

struct ServingValidation {
  ServingRows measured;
  std::vector<ServingPrediction> predictions;
  std::map<std::string, int> left_out;        ///< by reason, those of the reader included
  std::map<std::string, std::string> fitted;  ///< with `fit`: figures of workloads/serving.yaml
  bool cross_validated = false;               ///< `leave_out` was asked for
};

struct ValidateServingConfig {
  ServingRows measured;
  bool leave_out = false;  ///< predict each model by a fit that has not seen it, too
  bool fit = false;        ///< and say what a fit to all rows gives
};

/// Throws Error.
ServingValidation validate_serving(const ValidateServingConfig& config, const PartsCatalogue& parts,
                                   const ForEach& for_each);

std::string validate_serving_text(const ServingValidation& result);
/// Tables: scores, rows, left_out.
Report validate_serving_report(const ServingValidation& result);

}  // namespace fabricast
