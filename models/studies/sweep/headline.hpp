#pragma once
// The figures of a report that a store keeps as columns.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "models/io/report/report.hpp"

namespace fabricast {

/// The row of a table of the report that tells most: the last, which has the most nodes and the
/// largest size; of a plan the first, the best layout. REQUIRES: a row.
std::size_t headline_row(const Report& report, const ReportTable& table);

/// Of the first table: its last row, which has the most nodes and the largest size; of a plan its
/// first, the best layout; and of serve both. By the names of headline_columns().
std::map<std::string, std::variant<double, std::int64_t, std::string>> headline_of(
    const Report& report);

}  // namespace fabricast
