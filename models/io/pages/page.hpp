#pragma once
// Reports as one page of HTML that needs no network: its style, scripts and data are in it, and its
// Content-Security-Policy allows nothing else. What is drawn is decided in web/ (docs/report.md).

#include <string>
#include <vector>

#include "models/io/report/page_data.hpp"
#include "models/io/report/report.hpp"

namespace fabricast {

std::string report_page(const std::vector<PagePart>& parts);
/// With the machine that its job names.
PagePart part_of(const Report& report);
/// A report as JSON, that some command wrote: `file` is its name. Its command is not known. Throws
/// Error.
PagePart read_part(const std::string& json, const std::string& file);
/// The live page.
std::string ui_page();

/// What topo_json() says of the machine that a report's job names, with as many nodes as it asks
/// for at most; null where there is none, or it cannot be loaded any more.
Json machine_json(const Json& job);

}  // namespace fabricast
