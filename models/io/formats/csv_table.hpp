#pragma once
// A CSV file with a header line, by column name (RFC 4180: quotes, doubled quotes, line breaks
// inside quotes). Own and strict: Debian's only CSV library (libcsv) takes broken quotes and rows
// of any length, and knows no line numbers for messages.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

class CsvRow;

class CsvTable {
 public:
  /// Throws Error with the line: a quote that never ends or stands inside a field, a row that is
  /// longer or shorter than the header, a column named twice, no header. With `broken` such rows
  /// are left out and go there; what follows is read from the next line on. The header must be
  /// whole.
  CsvTable(std::string_view text, std::string file, std::vector<Error>* broken = nullptr);

  std::size_t rows() const { return rows_.size(); }
  CsvRow row(std::size_t index) const;
  bool has(std::string_view column) const { return columns_.contains(column); }
  /// Throws Error with the nearest column.
  std::size_t column(std::string_view name) const;
  const std::string& file() const { return file_; }

 private:
  friend class CsvRow;
  struct Row {
    int line = 0;  ///< where it begins
    std::vector<std::string> fields;
  };

  void add_row(int line, std::vector<std::string> fields, std::size_t columns);

  std::string file_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<Row> rows_;
};

/// One row; valid as long as its table. Every reader throws Error with line and column.
class CsvRow {
 public:
  CsvRow(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}

  /// The field as it stands; "" if the table has no such column and it is optional.
  const std::string& text(std::string_view column) const;
  const std::string& text_or_blank(std::string_view column) const;
  /// Nothing where the field is blank or its optional column is missing.
  std::optional<int> whole(std::string_view column, int min, int max) const;
  /// A whole number of bytes from 1.
  std::optional<Bytes> bytes(std::string_view column) const;
  std::optional<double> positive(std::string_view column) const;
  Place place(std::string_view column = {}) const;

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

}  // namespace fabricast
