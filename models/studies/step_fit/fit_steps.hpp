#pragma once
// From published steps to workloads/step_fits.yaml.

#include "models/io/workloads/load_step_fits.hpp"
#include "models/studies/training/validate_steps.hpp"

namespace fabricast {

/// The factors that fit training steps best (models/studies/accuracy/robust_fit.hpp), with all of
/// them and without each source: a robust fit of the logarithms of predicted over measured times,
/// in which each source weighs as much as any other and errors above 8 % count linearly; priors are
/// those of step_figures(). Bands are the middle 80 % of what steps take over predictions of fits
/// without their source; those of a source, of the others. Weak cases are passed over.
StepFits fit_steps(const StepCases& cases, const PartsCatalogue& parts, const ForEach& for_each);

}  // namespace fabricast
