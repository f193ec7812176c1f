#pragma once
// The tables of a report as its JSON has them, a row as an object of columns.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/report/report.hpp"

namespace fabricast::testing {

inline std::vector<nlohmann::json> rows_of_json(const std::string& json, std::string_view table) {
  std::vector<nlohmann::json> out;
  const auto report = nlohmann::json::parse(json);
  for (const auto& one : report["tables"]) {
    if (one["name"] != table) continue;
    for (const auto& cells : one["rows"]) {
      nlohmann::json& row = out.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i)
        row[one["columns"][i]["name"].get<std::string>()] = cells[i];
    }
  }
  return out;
}

inline std::vector<nlohmann::json> rows_of_json(const Report& report, std::string_view table) {
  return rows_of_json(report_json(report), table);
}

}  // namespace fabricast::testing
