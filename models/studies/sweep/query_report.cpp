// What a query finds, for people and as a report.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "models/studies/sweep/query.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

bool is_number(const QueryCell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

std::string cell_text(const QueryCell& cell) {
  if (const auto* const whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* const real = std::get_if<double>(&cell)) return fmt::format("{:.6g}", *real);
  const auto* const text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : *text;
}

Json cell_json(const QueryCell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return {};
        else
          return value;
      },
      cell);
}

}  // namespace

std::string query_text(const QueryResult& result) {
  TextTable table;
  std::vector<std::string> head(result.columns);
  table.add(head);
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (std::ranges::any_of(result.rows, [&](const auto& row) { return is_number(row[i]); }))
      table.align_right(i);
  }
  for (const std::vector<QueryCell>& row : result.rows) {
    std::vector<std::string> line;
    for (const QueryCell& cell : row) line.push_back(cell_text(cell));
    table.add(std::move(line));
  }
  std::string out = table.text();
  for (const std::string& note : result.notes) out += "note: " + note + "\n";
  return out;
}

Report query_report(const QueryResult& result, const QueryConfig& config) {
  Report out;
  out.study = "query";
  Json pareto = Json::array();
  for (const Aim& aim : config.pareto) pareto.push_back(aim_text(aim));
  out.job = {{"ask",
              {{"sweep", config.sweep},
               {"where", config.where},
               {"group_by", config.group_by},
               {"best", config.best ? Json(aim_text(*config.best)) : Json()},
               {"pareto", std::move(pareto)}}}};
  out.notes = result.notes;
  std::vector<ReportColumn> columns;
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    const bool is_text = std::ranges::any_of(result.rows, [&](const std::vector<QueryCell>& row) {
      return std::holds_alternative<std::string>(row[i]);
    });
    columns.push_back({result.columns[i],
                       is_text ? ReportColumn::Type::text : ReportColumn::Type::number,
                       {},
                       is_text ? "" : ".9g"});
  }
  ReportTable rows("rows", std::move(columns));
  for (const std::vector<QueryCell>& row : result.rows) {
    std::vector<Json> cells;
    for (const QueryCell& cell : row) cells.push_back(cell_json(cell));
    rows.add(std::move(cells));
  }
  out.tables.push_back(std::move(rows));
  out.facts["rows_of_the_store"] = result.seen;
  out.facts["rows_that_fit"] = result.matched;
  out.facts["rows"] = result.rows.size();
  return out;
}

}  // namespace fabricast
