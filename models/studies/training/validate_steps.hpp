#pragma once
// The study behind `fabricast validate steps`: published step times beside predictions.

#include <functional>
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
  ServeConfig serving;            ///< but of a step
  double measured = 0;            ///< seconds
  bool weak = false;              ///< the source is not to be relied on: predicted, not fitted to
  bool dispatch_by_nccl = false;  ///< though the framework has kernels for it
  std::string note;               ///< what had to be assumed; "" = nothing
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
  double left_out = 0;  ///< by the fit that has not seen the group
  StepBand unseen;      ///< of that fit
  bool weak = false;
  StepResult result;             ///< of a step
  std::vector<double> variants;  ///< predictions by StepVariants
};

struct StepValidation {
  std::vector<StepPrediction> rows;
  std::vector<LeftOut> left_out;
};

/// A CSV with the columns that docs/validate.md lists. Throws Error; rows whose hardware, software
/// or mode is not known are left out, never guessed.
StepCases read_step_cases(std::string_view text, const std::string& file,
                          const FrameworkCatalogue& frameworks);

/// Further predictions of a step, by other factors on the catalogues before any fit.
using StepVariants = std::function<std::vector<StepFactors>(const StepCase& one)>;

/// Steps are predicted by `fits`, and left_out by that without their group. Machines side by side;
/// on each its cases share what collectives take.
StepValidation validate_steps(const StepCases& cases, const PartsCatalogue& parts,
                              const StepFits& fits, const ForEach& for_each = in_turn,
                              const StepVariants& variants = {});

/// Errors by group.
std::string validation_text(const StepValidation& validation);

}  // namespace fabricast
