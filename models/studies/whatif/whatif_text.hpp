#pragma once
// Views of `fabricast whatif`.

#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/whatif/whatif.hpp"

namespace fabricast {

std::string whatif_text(const WhatifResult& result);
/// Tables: rows (a line for each change of each row), before_and_after, mechanisms.
Report whatif_report(const WhatifResult& result, const Job& before, const Job& after);

std::string whatif_text(const WhatifTable& table);
/// `works`: what was compared. Tables: rows (a line for each row of each setup), rates, setups.
Report whatif_report(const WhatifTable& table, const std::vector<NamedWork>& works);

}  // namespace fabricast
