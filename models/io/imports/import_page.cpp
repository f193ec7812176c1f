#include <fmt/format.h>

#include "models/io/imports/import_readers.hpp"
#include "models/io/report/page_data.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"

namespace fabricast::import_readers {
namespace {

std::string text_of(const Json& report, const char* key) {
  const auto found = report.find(key);
  return found != report.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void tell_part(const PagePart& part, ImportedFile& out) {
  out.add("report", text_of(part.report, "study"));
  out.add("answer", text_of(part.report, "answer"));
  out.add("command", part.command);
  out.add("program", text_of(part.report, "program"));
  out.add("data", text_of(part.report, "data"));
  out.add("digest", text_of(part.report, "digest"));
  const auto tables = part.report.find("tables");
  if (tables == part.report.end() || !tables->is_array()) return;
  for (const Json& table : *tables) {
    if (!table.is_object() || !table.contains("rows")) continue;
    out.add("table", fmt::format("{}: {}", text_of(table, "name"),
                                 counted(std::ssize(table["rows"]), "row")));
  }
}

}  // namespace

bool read_page(const std::string& text, const std::string& file, ImportedFile& out) {
  if (!is_page(text)) return false;
  out.kind = "page of reports (fabricast --html)";
  try {
    for (const PagePart& part : parts_of_page(text, file)) tell_part(part, out);
  } catch (const Error& error) {
    out.remark(error.reason());
  }
  return true;
}

bool read_report(const std::string& text, ImportedFile& out) {
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object() || !report.contains("schema_version") || text_of(report, "study").empty())
    return false;
  out.kind = "report (fabricast --format json)";
  tell_part({{}, std::move(report), {}}, out);
  return true;
}

}  // namespace fabricast::import_readers
