#pragma once
// Reports of the studies of training and inference: views for programs.

#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/training/plan.hpp"
#include "models/studies/training/serve.hpp"
#include "models/studies/training/traced_calls.hpp"
#include "models/studies/training/validate_steps.hpp"

namespace fabricast {

/// Tables: rows (a line for each step), layouts, hidden (communication behind kernels), memory,
/// costs. REQUIRES: at least one step.
Report step_report(const std::vector<NamedStep>& steps);
Report step_report(const StepResult& result);
/// Tables: rows (a line for each layout ranked), does_not_fit, searches, and those of steps.
/// REQUIRES: at least one plan.
Report plan_report(const std::vector<Plan>& plans);
/// Rows: the first token, and each further one.
Report serve_report(const ServeResult& result);
Report traced_report(const TracedResult& result);
/// Tables: rows, left_out.
Report validation_report(const StepValidation& validation);

}  // namespace fabricast
