#include "models/studies/solve/report_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/studies/sweep/headline.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

std::optional<std::size_t> column_in(const ReportTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.columns(), name, &ReportColumn::name);
  if (found == table.columns().end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.columns().begin());
}

FormulaValue formula_cell(const Json& cell) {
  if (cell.is_boolean()) return cell.get<bool>();
  if (cell.is_number()) return cell.get<double>();
  if (cell.is_string()) return cell.get<std::string>();
  return {};
}

/// How a figure goes with the time of its row: with it, against it, or not.
int power_of_time(const std::string& column) {
  for (const std::string_view rate :
       {"algbw_GBps", "busbw_GBps", "tokens_per_s", "tokens_per_s_per_gpu", "mfu"})
    if (column == rate) return -1;
  for (const std::string_view time :
       {"time_us", "time_s", "step_s", "usd_per_step", "usd_per_million_tokens", "usd_per_run",
        "first_token_s", "token_s"})
    if (column == time) return 1;
  return 0;
}

bool fits(const ReportTable& table, std::size_t row, const FormulaName& name) {
  return std::ranges::all_of(name.filter, [&](const auto& wanted) {
    const Json& cell = table.rows()[row][*column_in(table, wanted.first)];
    return is_filter_value(formula_cell(cell), wanted.second);
  });
}

}  // namespace

std::vector<std::string> column_names(const Report& report) {
  std::vector<std::string> out;
  for (const ReportTable& table : report.tables)
    for (const ReportColumn& column : table.columns())
      if (std::ranges::find(out, column.name) == out.end()) out.emplace_back(column.name);
  return out;
}

ReportValue::ReportValue(const Report& report, const FormulaName& name) : report_(report) {
  const auto has_all = [&](const ReportTable& table) {
    bool out = column_in(table, name.column).has_value() && !table.rows().empty();
    for (const auto& [column, wanted] : name.filter) out = out && column_in(table, column);
    return out;
  };
  const auto table = std::ranges::find_if(report.tables, has_all);
  if (table == report.tables.end())
    throw Error(fmt::format("the answer has no table with {}", to_text(name)),
                hint_nearest(name.column, column_names(report)));
  table_ = &*table;
  column_ = *column_in(*table_, name.column);
  row_ = headline_row(report_, *table_);
  if (name.filter.empty()) return;
  std::size_t found = 0;
  for (std::size_t i = 0; i < table_->rows().size(); ++i) {
    if (!fits(*table_, i, name)) continue;
    if (found++ == 0) row_ = i;
  }
  if (found == 1) return;
  throw Error(
      fmt::format("{} rows of the answer fit {}", found == 0 ? "no" : "several", to_text(name)),
      found == 0 ? "ask the question for it, too: its sizes, its collectives"
                 : "say more in the brackets: [size_bytes=1GiB, collective=all_gather]");
}

FormulaValue ReportValue::with(double time_factor) const {
  FormulaValue out = formula_cell(table_->rows()[row_][column_]);
  double* const number = std::get_if<double>(&out);
  const int power = power_of_time(std::string(table_->columns()[column_].name));
  if (number != nullptr && power > 0) *number *= time_factor;
  if (number != nullptr && power < 0) *number /= time_factor;
  return out;
}

std::optional<double> ReportValue::number(const std::string& column) const {
  const std::optional<std::size_t> at = column_in(*table_, column);
  if (!at || !table_->rows()[row_][*at].is_number()) return std::nullopt;
  return table_->rows()[row_][*at].get<double>();
}

std::optional<TimeFactors> ReportValue::band() const {
  using Names = std::array<const char*, 3>;
  for (const Names& names :
       {Names{"time_us", "lower_us", "upper_us"}, Names{"step_s", "lower_s", "upper_s"}}) {
    const auto time = number(names[0]), lower = number(names[1]), upper = number(names[2]);
    if (time && lower && upper && *time > 0) return TimeFactors{*lower / *time, *upper / *time};
  }
  return std::nullopt;
}

}  // namespace fabricast
