#pragma once
// Why NCCL takes what it takes for one call: every candidate's price, what excluded the rest, the
// channels of the winner, and what each variable changed.

#include <string>

#include "models/studies/decide/decide.hpp"

namespace fabricast {

/// All rows of the result, one after the other. Variables with
/// DecideConfig::explain only.
std::string explain_text(const DecideResult& result);

}  // namespace fabricast
