#pragma once
// What a report of the library holds.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/fabricast.hpp"
#include "models/io/report/report.hpp"

namespace fabricast::api {

struct Report::Content {
  std::string study;
  std::string command;                      ///< as it would be typed
  std::optional<fabricast::Report> report;  ///< its columns' words are below
  std::deque<std::string> column_words;
  std::vector<Table> tables;
  std::vector<std::string> notes;
  std::string text;
  bool holds = true;

  /// What is given may lie in what its command has made, and is gone when that returns.
  void keep(const fabricast::Report& given);
  /// Throws fabricast::Error where there is none.
  const fabricast::Report& must() const;
};

}  // namespace fabricast::api
