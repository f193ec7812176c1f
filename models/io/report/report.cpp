#include "models/io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "models/io/report/answer.hpp"
#include "models/io/shipped/embedded.hpp"
#include "sim/base/digest.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

constexpr std::array kTypeWords = {"string", "boolean", "integer", "number"};

Json column_json(const ReportColumn& column) {
  Json out = {{"name", column.name}, {"type", kTypeWords[static_cast<std::size_t>(column.type)]}};
  if (!column.unit.empty()) out["unit"] = column.unit;
  if (!column.part.empty()) out["part"] = column.part;
  return out;
}

/// "[]", or a line for each item.
template <class Items, class Line>
std::string list_text(const Items& items, const std::string& indent, const Line& line) {
  std::string out;
  for (const auto& item : items)
    out += fmt::format("{}\n{}  {}", out.empty() ? "" : ",", indent, line(item));
  return out.empty() ? "[]" : fmt::format("[{}\n{}]", out, indent);
}

std::string table_text(const ReportTable& table) {
  Json columns = Json::array();
  for (const ReportColumn& column : table.columns()) columns.push_back(column_json(column));
  return fmt::format("{{\"name\": {}, \"columns\": {}, \"rows\": {}}}",
                     json_line(Json(table.name())), json_line(columns),
                     list_text(table.rows(), "    ",
                               [](const std::vector<Json>& row) { return json_line(Json(row)); }));
}

std::string csv_cell(const ReportColumn& column, const Json& cell) {
  if (cell.is_null()) return {};
  if (cell.is_string()) return csv_field(cell.get_ref<const std::string&>());
  if (cell.is_boolean()) {
    const bool words = column.digits == "yes";
    return cell.get<bool>() ? (words ? "yes" : "1") : (words ? "no" : "0");
  }
  if (!cell.is_number_float()) return cell.dump();
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", column.digits)), cell.get<double>());
}

void mix(std::uint64_t& digest, std::string_view text) {
  for (const char c : text) mix_digest(digest, static_cast<unsigned char>(c));
  mix_digest(digest, text.size());
}

}  // namespace

void ReportTable::add(std::vector<Json> cells) {
  if (cells.size() != columns_.size())
    throw std::logic_error(
        fmt::format("table {}: {} cells for {} columns", name_, cells.size(), columns_.size()));
  rows_.push_back(std::move(cells));
}

const Json& ReportTable::at(std::size_t row, std::string_view column) const {
  const auto found = std::ranges::find(columns_, column, &ReportColumn::name);
  if (found == columns_.end())
    throw std::logic_error(fmt::format("table {} has no column {}", name_, column));
  return rows_.at(row)[static_cast<std::size_t>(found - columns_.begin())];
}

const ReportTable& Report::table(std::string_view name) const {
  const auto found = std::ranges::find(tables, name, &ReportTable::name);
  if (found == tables.end())
    throw std::logic_error(fmt::format("the report of {} has no table {}", study, name));
  return *found;
}

std::string report_json(const Report& report) {
  Json digest;
  if (report.digest) digest = fmt::format("{:016x}", *report.digest);
  std::string out = "{\n";
  for (const auto& [name, value] : {std::pair<const char*, Json>{"schema_version", kSchemaVersion},
                                    {"study", report.study},
                                    {"answer", answer_of(report)},
                                    {"job", report.job},
                                    {"program", program_version()},
                                    {"data", data_version()},
                                    {"seed", or_null(report.seed)},
                                    {"digest", digest}})
    out += fmt::format("  \"{}\": {},\n", name, json_line(value));
  out += "  \"notes\": " + list_text(report.notes, "  ", [](const std::string& note) {
           return json_line(Json{{"level", "note"}, {"text", note}});
         });
  out += ",\n  \"tables\": " + list_text(report.tables, "  ", table_text);
  return out + fmt::format(",\n  \"facts\": {}\n}}\n", json_line(report.facts));
}

std::string report_csv(const Report& report) {
  const ReportTable& table = report.tables.front();
  std::string out;
  for (const ReportColumn& column : table.columns())
    out += fmt::format("{}{}", out.empty() ? "" : ",", column.name);
  out += '\n';
  for (const std::vector<Json>& row : table.rows()) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out += (i > 0 ? "," : "") + csv_cell(table.columns()[i], row[i]);
    out += '\n';
  }
  return out;
}

std::string_view program_version() { return FABRICAST_VERSION; }

std::string data_version() {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const auto& files : {embedded_topologies(), embedded_workloads()}) {
    for (const EmbeddedFile& file : files) {
      mix(digest, file.name);
      mix(digest, file.text);
    }
  }
  mix(digest, embedded_variables().front().text);
  return fmt::format("{:016x}", digest);
}

}  // namespace fabricast
