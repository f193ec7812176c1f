#pragma once
// Aligned columns for people.

#include <cstddef>
#include <string>
#include <vector>

namespace fabricast {

/// Cells of one line; columns are as wide as their widest cell, no blanks at the end.
class TextTable {
 public:
  explicit TextTable(std::string indent = {}) : indent_(std::move(indent)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// The cells of this column end where its widest one does.
  void align_right(std::size_t column) { right_.push_back(column); }

  std::string text() const;

 private:
  std::string indent_;
  std::vector<std::size_t> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fabricast
