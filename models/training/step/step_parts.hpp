#pragma once
// What the time of a step is made of: the one list of its parts, for tables, reports and
// comparisons.

#include <span>
#include <string_view>

#include "models/training/step/step.hpp"

namespace fabricast {

struct StepPart {
  enum class Kind : std::uint8_t {
    kernels,        ///< of layers
    communication,  ///< that kernels do not hide, or what it takes from them
    rest            ///< the host, the optimizer
  };
  std::string_view name;    ///< in tables: "TP, exposed"
  std::string_view column;  ///< of reports, in seconds: "tp_exposed_s"
  Kind kind{};
  double (*seconds)(const StepBreakdown&);
};

/// They add up to the step.
std::span<const StepPart> step_parts();

/// Communication beside kernels, which costs no time of its own: "TP", "tp_hidden_s".
std::span<const StepPart> hidden_step_parts();

/// Seconds of all parts of communication.
double communication_of(const StepBreakdown& breakdown);

}  // namespace fabricast
