#pragma once
// Views of what is taken in place of NCCL's plain kernels: with registered buffers, and by engines.

#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/decide/decide.hpp"

namespace fabricast {

/// Of the rows of one collective, ascending: runs of sizes with one choice, and why. Empty where
/// neither was asked for.
std::string kernels_text(const DecideConfig& config, const std::vector<const DecideRow*>& rows);

ReportTable registered_table(const DecideResult& result);
ReportTable engines_table(const DecideResult& result);

}  // namespace fabricast
