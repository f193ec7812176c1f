#pragma once
// A cell of a table that may not be blank.

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "models/io/formats/csv_table.hpp"

namespace fabricast {

/// What row.whole() and the like found. Throws Error with the cell's place.
template <class T>
T required(const std::optional<T>& value, const CsvRow& row, std::string_view column) {
  if (!value) throw Error(row.place(column), fmt::format("{} is blank", column));
  return *value;
}

}  // namespace fabricast
