#pragma once
// The texts of `fabricast cutover`: a map for a terminal, CSV, JSON.

#include <string>
#include <vector>

#include "models/studies/cutover/cutover.hpp"

namespace fabricast {

/// A map of the fastest by size and nodes, the cutover sizes, and where NCCL's choice loses.
std::string cutover_text(const CutoverResult& result, const std::vector<CutoverVariant>& variants);

/// One line for each contender of each cell.
std::string cutover_csv(const CutoverResult& result);

std::string cutover_json(const CutoverResult& result, const std::vector<CutoverVariant>& variants);

}  // namespace fabricast
