#pragma once
// What the live page offers to choose from.

#include "models/io/report/report.hpp"

namespace fabricast {

/// Presets, fabrics, layouts, releases, variables, and each command's options.
Json ui_catalogue();

}  // namespace fabricast
