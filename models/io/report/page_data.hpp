#pragma once
// The data in a page of reports: what its scripts draw, and what reads it back.

#include <string>
#include <string_view>
#include <vector>

#include "models/io/report/report.hpp"

namespace fabricast {

/// A report and what stands beside it.
struct PagePart {
  std::string command;  ///< that gives it again, as typed; "" where that is not known
  Json report;          ///< as report_json() writes it
  Json machine;         ///< as topo_json() writes it; null where there is none
};

/// One part as the page's scripts take it.
Json part_json(const PagePart& part);
/// All of them, as text in which no reader of HTML takes anything for a tag.
std::string page_data(const std::vector<PagePart>& parts);

bool is_page(std::string_view text);
/// The parts of a page. Throws Error: `file` is its name.
std::vector<PagePart> parts_of_page(std::string_view text, const std::string& file);
/// The JSON of a report of `study`: what `text` is, or what a page of that text holds. Throws
/// Error.
std::string report_in(std::string text, const std::string& file, std::string_view study);

}  // namespace fabricast
