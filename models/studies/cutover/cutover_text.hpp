#pragma once
// Views of `fabricast cutover`.

#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/cutover/cutover.hpp"

namespace fabricast {

/// A map of the fastest by size and nodes, the cutover sizes, and where NCCL's choice loses.
std::string cutover_text(const CutoverResult& result, const std::vector<CutoverVariant>& variants);
/// Tables: rows (a line for each contender of each cell, without variants), choices, cutovers.
Report cutover_report(const CutoverResult& result,
                      const std::vector<CutoverVariant>& variants = {});

}  // namespace fabricast
