#pragma once
// Holds what a scenario gave against what it expects.

#include "models/studies/scenario/scenario.hpp"

namespace fabricast {

/// Fills verdicts and comparisons. Throws Error when an expectation speaks of what was not run.
void judge(ScenarioResult& result);

}  // namespace fabricast
