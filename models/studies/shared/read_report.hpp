#pragma once
// Tables of a report that an earlier run wrote as JSON, cell by cell.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

class ReadReport {
 public:
  /// Throws Error when the text is no report of `study`; `command` is what writes one: "fabricast
  /// check --json".
  ReadReport(const std::string& text, std::string file, std::string_view study,
             std::string command);

  /// Throws Error when the table or a column is not there, or a row is too short.
  class Table {
   public:
    Table(const ReadReport& report, std::string_view name);

    std::size_t size() const { return rows_->size(); }
    const std::string& text(std::size_t row, std::string_view column) const;

   private:
    const ReadReport& report_;
    std::vector<std::string> columns_;
    const std::vector<YamlNode>* rows_ = nullptr;
  };
  Table table(std::string_view name) const { return {*this, name}; }

  const YamlNode& root() const { return root_; }
  /// The value behind these keys, each below the one before. Throws Error when it is not there.
  const YamlNode& at(const YamlNode& from, std::initializer_list<std::string_view> keys) const;

  [[noreturn]] void refuse() const;

 private:
  std::string file_, command_;
  YamlNode root_;
};

}  // namespace fabricast
