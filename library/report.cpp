#include <algorithm>
#include <utility>

#include "library/report_content.hpp"
#include "library/translate.hpp"
#include "models/io/pages/page.hpp"
#include "models/io/report/answer.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast::api {
namespace {

Cell cell_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return utf8_text(value.get_ref<const std::string&>());
  if (value.is_null()) return std::monostate();
  return json_line(value);
}

/// A whole figure in a column of numbers is one of them.
Cell cell_of(const Json& value, ReportColumn::Type type) {
  if (type == ReportColumn::Type::number && value.is_number()) return value.get<double>();
  return cell_of(value);
}

Table table_of(const ReportTable& from) {
  Table out{from.name(), {}, {}};
  for (const ReportColumn& column : from.columns())
    out.columns.push_back({std::string(column.name), static_cast<Column::Type>(column.type),
                           std::string(column.unit)});
  for (const std::vector<Json>& row : from.rows()) {
    std::vector<Cell>& cells = out.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(cell_of(row[i], from.columns()[i].type));
  }
  return out;
}

const ReportTable& found_table(const fabricast::Report& report, std::string_view name) {
  std::vector<std::string> known;
  for (const ReportTable& table : report.tables) {
    if (table.name() == name) return table;
    known.push_back(table.name());
  }
  throw fabricast::Error("there is no table \"" + std::string(name) + "\"",
                         hint_nearest(std::string(name), known));
}

}  // namespace

void Report::Content::keep(const fabricast::Report& given) {
  const auto kept = [this](std::string_view word) {
    return std::string_view(column_words.emplace_back(word));
  };
  report = given;
  notes.clear();
  for (const std::string& note : given.notes) notes.push_back(utf8_text(note));
  for (ReportTable& table : report->tables) {
    std::vector<ReportColumn> columns;
    for (const ReportColumn& column : table.columns())
      columns.push_back({kept(column.name), column.type, kept(column.unit), kept(column.digits),
                         kept(column.part)});
    ReportTable own(table.name(), std::move(columns));
    for (const std::vector<Json>& row : table.rows()) own.add(row);
    table = std::move(own);
    tables.push_back(table_of(table));
  }
}

const fabricast::Report& Report::Content::must() const {
  if (report) return *report;
  throw fabricast::Error(study + " printed a text: there is no report", "it is in text()");
}

Report::Report(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

const std::string& Report::study() const { return content_->study; }
const std::string& Report::command() const { return content_->command; }
std::string Report::answer() const {
  return content_->report ? utf8_text(answer_of(*content_->report)) : std::string();
}
const std::vector<std::string>& Report::notes() const { return content_->notes; }
const std::vector<Table>& Report::tables() const { return content_->tables; }
bool Report::holds() const { return content_->holds; }
const std::string& Report::text() const { return content_->text; }

const Table& Report::table(std::string_view name) const {
  return translated([&]() -> const Table& {
    const ReportTable& found = found_table(content_->must(), name);
    return content_->tables[static_cast<std::size_t>(&found - content_->report->tables.data())];
  });
}

std::string Report::json() const {
  return translated([&] { return report_json(content_->must()); });
}

std::string Report::csv(std::string_view table) const {
  return translated([&] {
    const fabricast::Report& all = content_->must();
    if (all.tables.empty()) throw fabricast::Error(content_->study + " has no tables");
    if (table.empty()) return utf8_text(report_csv(all));
    fabricast::Report one;
    one.tables = {found_table(all, table)};
    return utf8_text(report_csv(one));
  });
}

std::string Report::html() const {
  return translated([&] {
    PagePart part = part_of(content_->must());
    part.command = content_->command;
    return report_page({std::move(part)});
  });
}

std::string page_of(std::string_view json, const std::string& command) {
  return translated([&] {
    PagePart part = read_part(std::string(json), "json");
    part.command = command;
    return report_page({std::move(part)});
  });
}

}  // namespace fabricast::api
