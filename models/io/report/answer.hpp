#pragma once
// The answer of a report in one or two sentences, for whoever reads nothing else.

#include <string>

#include "models/io/report/report.hpp"

namespace fabricast {

/// From the report's tables and facts alone, so that each number in it stands there; "" where the
/// study has none in words.
std::string answer_of(const Report& report);

}  // namespace fabricast
