#pragma once
// A recipe of `fabricast calibrate` (docs/calibrate.md) -> CalibrationRecipe.

#include <string>

#include "models/studies/accuracy/calibrate.hpp"

namespace fabricast {

/// Throws Error with file and line. Paths of data files are relative to the recipe.
CalibrationRecipe load_recipe(const std::string& file);
CalibrationRecipe parse_recipe(const std::string& text, const std::string& file);

}  // namespace fabricast
