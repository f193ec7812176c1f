#pragma once
// Custom algorithms from files: MSCCL's XML, or transfers of chunks in YAML
// (docs/custom-algorithms.md). Both are checked before they are given out.

#include <string>

#include "models/nccl/custom/custom_algorithm.hpp"

namespace fabricast {

/// Throws Error with file and line.
CustomAlgorithm load_algorithm(const std::string& file);
/// `file` is used in messages only.
CustomAlgorithm parse_algorithm(const std::string& text, const std::string& file);

}  // namespace fabricast
