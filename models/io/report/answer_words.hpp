#pragma once
// What the answers of all studies are made of: rows of a report's tables, and values in words.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "models/io/report/report.hpp"

namespace fabricast::answers {

/// The rows of a table that may not be there.
class AnswerRows {
 public:
  AnswerRows(const Report& report, std::string_view table) {
    const auto found = std::ranges::find(report.tables, table, &ReportTable::name);
    if (found != report.tables.end()) table_ = &*found;
  }

  bool has_column(std::string_view column) const {
    return table_ != nullptr && std::ranges::find(table_->columns(), column, &ReportColumn::name) !=
                                    table_->columns().end();
  }
  std::size_t size() const { return table_ == nullptr ? 0 : table_->rows().size(); }
  /// Null where there is no such column.
  Json cell(std::size_t row, std::string_view column) const {
    const auto& columns = table_->columns();
    const auto found = std::ranges::find(columns, column, &ReportColumn::name);
    if (found == columns.end()) return {};
    return table_->rows()[row][static_cast<std::size_t>(found - columns.begin())];
  }
  bool has(std::size_t row, std::string_view column) const { return cell(row, column).is_number(); }
  /// 0 where there is no number.
  double number(std::size_t row, std::string_view column) const {
    const Json value = cell(row, column);
    return value.is_number() ? value.get<double>() : 0;
  }
  std::string text(std::size_t row, std::string_view column) const {
    const Json value = cell(row, column);
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  bool flag(std::size_t row, std::string_view column) const {
    const Json value = cell(row, column);
    return value.is_boolean() && value.get<bool>();
  }
  /// The row with the largest number in a column; nothing where there is none.
  std::optional<std::size_t> largest(std::string_view column) const {
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < size(); ++i)
      if (has(i, column) && (!out || number(i, column) > number(*out, column))) out = i;
    return out;
  }
  std::map<std::string, int> count(std::string_view column) const {
    std::map<std::string, int> out;
    for (std::size_t i = 0; i < size(); ++i) ++out[text(i, column)];
    return out;
  }

 private:
  const ReportTable* table_ = nullptr;
};

/// Three or four digits in the unit that fits: "12.5 us", "3.2 ms", "1.4 s".
std::string us(double value);
std::string seconds(double value);
/// Bytes of a cell: exact where that is short ("4 MiB"), else four digits of KiB or MiB.
std::string size(const AnswerRows& rows, std::size_t row, std::string_view column = "size_bytes");
std::string whole(const AnswerRows& rows, std::size_t row, std::string_view column);
/// "1 node", "2 nodes".
std::string counted(double count, std::string_view what);
std::string percent(double share);
/// "Ring LL128".
std::string choice(const AnswerRows& rows, std::size_t row);
/// "all_reduce of 1 GiB on 2 nodes", or "The step".
std::string call(const AnswerRows& rows, std::size_t row);

/// A study by its name in reports, and what makes its answer.
using StudyAnswer = std::pair<std::string_view, std::string (*)(const Report&)>;
std::span<const StudyAnswer> of_calls();
std::span<const StudyAnswer> of_steps();
std::span<const StudyAnswer> of_clusters();
std::span<const StudyAnswer> of_sweeps();
/// What a file expects, whichever study ran; where it expects nothing, the answer of bench.
std::string of_expectations(const Report& report);

}  // namespace fabricast::answers
