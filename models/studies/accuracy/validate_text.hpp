#pragma once
// A ValidateResult for people and for files (docs/validate.md has the columns).

#include <optional>
#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/accuracy/validate.hpp"

namespace fabricast {

std::string validate_text(const ValidateResult& result);
/// Tables: rows (one for each measured point that has a size and whose run is not left out),
/// left_out, assumed, ranges, classes, pairs.
Report validate_report(const ValidateResult& result);
/// "12.3"; "-" where there is none.
std::string percent_or_none(std::optional<double> share);
/// One line for each run that is left out, with the reason.
std::string left_out_text(const ValidateResult& result);

}  // namespace fabricast
