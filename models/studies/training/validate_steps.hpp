#pragma once
// The study behind `fabricast validate steps`: published step times beside predictions.

#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/studies/training/serve.hpp"

namespace fabricast {

/// A published measurement, as a question.
struct StepCase {
  enum class Asks : std::uint8_t { step, prompt, token, request };
  std::string id, group;
  Asks asks = Asks::step;
  StepConfig config;
  ServeConfig serving;  ///< but of a step
  double measured = 0;  ///< seconds
  std::string note;     ///< what had to be assumed; "" = nothing
};

/// What cannot be asked, and why.
struct LeftOut {
  std::string id, why;
};

struct StepCases {
  std::vector<StepCase> cases;
  std::vector<LeftOut> left_out;
};

struct StepPrediction {
  std::string id, group;
  StepCase::Asks asks = StepCase::Asks::step;
  double measured = 0, predicted = 0;
  StepResult result;  ///< of a step
};

struct StepValidation {
  std::vector<StepPrediction> rows;
  std::vector<LeftOut> left_out;
};

/// A CSV with the columns that docs/validate.md lists. Throws Error; rows whose hardware, software
/// or mode is not known are left out, never guessed.
StepCases read_step_cases(std::string_view text, const std::string& file,
                          const FrameworkCatalogue& frameworks);

/// Machines side by side; on each its cases share what collectives take.
StepValidation validate_steps(const StepCases& cases, const PartsCatalogue& parts,
                              const FrameworkCatalogue& frameworks, const ComputeCatalogue& compute,
                              const ForEach& for_each = in_turn);

/// Errors by group.
std::string validation_text(const StepValidation& validation);

}  // namespace fabricast
