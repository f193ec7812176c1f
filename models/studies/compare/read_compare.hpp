#pragma once
// A comparison in a file of `kind: compare`: the lists of `fabricast compare` as texts with commas.

#include <string>

#include "models/studies/compare/compare.hpp"

namespace fabricast {

/// Paths in it start from the folder of `file`. Throws Error.
CompareAsk parse_compare(const std::string& text, const std::string& file);

/// "on, off". Throws Error.
std::vector<bool> parse_on_off(const std::string& text);

}  // namespace fabricast
