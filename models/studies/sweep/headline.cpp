#include "models/studies/sweep/headline.hpp"

#include <algorithm>

#include "models/io/store/store.hpp"

namespace fabricast {
namespace {

using Headline = std::map<std::string, std::variant<double, std::int64_t, std::string>>;

void add(Headline& out, const std::string& name, const Json& cell) {
  if (cell.is_string()) out[name] = cell.get<std::string>();
  if (cell.is_number_float()) out[name] = cell.get<double>();
  if (cell.is_number_integer()) out[name] = cell.get<std::int64_t>();
  if (cell.is_boolean()) out[name] = std::int64_t{cell.get<bool>()};
}

}  // namespace

std::size_t headline_row(const Report& report, const ReportTable& table) {
  return report.study == "plan" ? 0 : table.rows().size() - 1;
}

Headline headline_of(const Report& report) {
  Headline out;
  if (report.tables.empty() || report.tables.front().rows().empty()) return out;
  const ReportTable& rows = report.tables.front();
  const std::size_t row = headline_row(report, rows);
  const std::vector<std::string> known = headline_columns();
  for (std::size_t i = 0; i < rows.columns().size(); ++i) {
    const std::string name(rows.columns()[i].name);
    if (std::ranges::find(known, name) != known.end()) add(out, name, rows.rows()[row][i]);
  }
  if (report.study == "serve" && rows.rows().size() == 2) {
    add(out, "first_token_s", rows.at(0, "time_s"));
    add(out, "token_s", rows.at(1, "time_s"));
  }
  return out;
}

}  // namespace fabricast
