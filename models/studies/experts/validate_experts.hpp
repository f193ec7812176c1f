#pragma once
// The study behind `fabricast validate experts`: measured dispatch and combine beside predictions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/experts/expert_call.hpp"
#include "models/experts/kernel_costs.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/report/report.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// A measured phase.
struct ExpertsPoint {
  std::string system;    ///< as the file has it
  std::string topology;  ///< the preset that it is
  EpMode mode{};
  EpPhase phase{};
  int nodes = 1, gpus_per_node = 8;
  ExpertCall call;
  bool notifies_alone = false;  ///< measured is the kernel that tells counts, without the phase
  bool without_notify = false;  ///< or the phase without it
  double measured_us = 0, predicted_us = 0;
  std::optional<double> unseen_us;  ///< by a fit to the other systems
};

struct ExpertsValidation {
  std::vector<ExpertsPoint> points;
  std::vector<std::string> left_out;  ///< why, each once
  int rows_left_out = 0;
  bool cross_validated = false;  ///< by predict_experts()
};

/// A CSV with the columns that docs/validate.md lists: of DeepEP (column `mode`) or TensorRT-LLM
/// (column `op`). Throws Error; rows of what is not modelled are left out.
ExpertsValidation read_experts_points(std::string_view text, const std::string& file);

/// Predicts every point; with `cross_validates` also by a fit that has not seen its system.
void predict_experts(ExpertsValidation& validation, const PartsCatalogue& parts,
                     const ExpertKernels& kernels, const ForEach& for_each = in_turn,
                     bool cross_validates = false);

std::string experts_validation_text(const ExpertsValidation& validation);
/// Tables: rows, scores.
Report experts_validation_report(const ExpertsValidation& validation);

}  // namespace fabricast
