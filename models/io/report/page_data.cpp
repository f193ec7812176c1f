#include "models/io/report/page_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kBegin = R"(<script type="application/json" id="fabricast-data">)";
constexpr std::string_view kEnd = "</script>";

/// JSON that no reader of HTML takes for a tag.
std::string html_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

Json part_json(const PagePart& part) {
  return {{"command", part.command}, {"report", part.report}, {"machine", part.machine}};
}

std::string page_data(const std::vector<PagePart>& parts) {
  Json data = {{"parts", Json::array()}};
  for (const PagePart& part : parts) data["parts"].push_back(part_json(part));
  return html_json(json_line(data));
}

bool is_page(std::string_view text) { return text.find(kBegin) != std::string_view::npos; }

std::vector<PagePart> parts_of_page(std::string_view text, const std::string& file) {
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd, begin);
  const Error broken(Place{file, 0, {}}, "no page of a report",
                     "--html of fabricast's commands writes such pages");
  if (begin == std::string_view::npos || end == std::string_view::npos) throw broken;
  const std::string_view data = text.substr(begin + kBegin.size(), end - begin - kBegin.size());
  std::vector<PagePart> out;
  try {
    const Json read = Json::parse(data);
    for (const Json& part : read.at("parts"))
      out.push_back({part.at("command").get<std::string>(), part.at("report"), part.at("machine")});
  } catch (const Json::exception&) {
    throw broken;
  }
  const bool whole = std::ranges::all_of(out, [](const PagePart& part) {
    return part.report.is_object() && part.report.contains("study") &&
           part.report["study"].is_string();
  });
  if (out.empty() || !whole) throw broken;
  return out;
}

std::string report_in(std::string text, const std::string& file, std::string_view study) {
  if (!is_page(text)) return text;
  for (const PagePart& part : parts_of_page(text, file))
    if (part.report.value("study", "") == study) return json_document(part.report);
  throw Error(Place{file, 0, {}}, fmt::format("holds no report of {}", study),
              "--html of that command writes one");
}

}  // namespace fabricast
