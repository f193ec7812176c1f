#pragma once
// A question in a file, `kind: plan`: the layouts of a model on a cluster, and what they vary.

#include <string>
#include <vector>

#include "models/studies/training/plan.hpp"

namespace fabricast {

struct PlanQuestion {
  std::vector<NamedConfig> configs;
  PlanLimits limits;
};

/// Keys: layout (a file of `fabricast step`, relative to this one), vary, fix, within (lists as the
/// options of `fabricast plan`), headroom, keep, price. Throws Error.
PlanQuestion parse_plan_question(const std::string& text, const std::string& file);

}  // namespace fabricast
