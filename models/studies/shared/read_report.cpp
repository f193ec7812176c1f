#include "models/studies/shared/read_report.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace fabricast {

namespace {

const YamlNode* find(const YamlNode& mapping, std::string_view key) {
  const auto found = std::ranges::find(mapping.keys, key);
  if (found == mapping.keys.end()) return nullptr;
  return &mapping.items[static_cast<std::size_t>(found - mapping.keys.begin())];
}

}  // namespace

ReadReport::ReadReport(const std::string& text, std::string file, std::string_view study,
                       std::string command)
    : file_(std::move(file)), command_(std::move(command)), root_(parse_yaml(text, file_)) {
  const YamlNode* const said = find(root_, "study");
  if (said == nullptr || said->text != study) refuse();
}

void ReadReport::refuse() const {
  throw Error(Place{file_, 0, {}}, "this is no output of " + command_,
              "an earlier Fabricast wrote another form: write it anew");
}

const YamlNode& ReadReport::at(const YamlNode& from,
                               std::initializer_list<std::string_view> keys) const {
  const YamlNode* out = &from;
  for (const std::string_view key : keys) {
    out = find(*out, key);
    if (out == nullptr) refuse();
  }
  return *out;
}

ReadReport::Table::Table(const ReadReport& report, std::string_view name) : report_(report) {
  const YamlNode* const tables = find(report.root_, "tables");
  if (tables == nullptr) report.refuse();
  for (const YamlNode& table : tables->items) {
    const YamlNode* const said = find(table, "name");
    if (said == nullptr || said->text != name) continue;
    const YamlNode *const columns = find(table, "columns"), *const rows = find(table, "rows");
    if (columns == nullptr || rows == nullptr) report.refuse();
    for (const YamlNode& column : columns->items) {
      const YamlNode* const word = find(column, "name");
      columns_.push_back(word == nullptr ? "" : word->text);
    }
    rows_ = &rows->items;
  }
  if (rows_ == nullptr) report.refuse();
  for (const YamlNode& row : *rows_)
    if (row.items.size() != columns_.size()) report.refuse();
}

const std::string& ReadReport::Table::text(std::size_t row, std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  if (found == columns_.end()) report_.refuse();
  return (*rows_)[row].items[static_cast<std::size_t>(found - columns_.begin())].text;
}

}  // namespace fabricast
