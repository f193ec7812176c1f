#pragma once
// Views of what communicators take.

#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/memory/memory.hpp"

namespace fabricast {

/// For people: of one case each allocation, of several cases one beside the other.
std::string memory_text(const MemoryResult& result);
/// Tables: rows, totals, savings.
Report memory_report(const MemoryResult& result);

}  // namespace fabricast
