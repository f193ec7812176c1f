#pragma once
// The figures of a report that a store keeps as columns.

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "models/io/report/report.hpp"

namespace fabricast {

/// Of the first table: its last row, which has the most nodes and the largest size; of a plan its
/// first, the best layout; and of serve both. By the names of headline_columns().
std::map<std::string, std::variant<double, std::int64_t, std::string>> headline_of(
    const Report& report);

}  // namespace fabricast
