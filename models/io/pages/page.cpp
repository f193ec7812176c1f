#include "models/io/pages/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/pages/embedded_web.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/load.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

unsigned hex_digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// The bytes that a hexadecimal text names, in base 64 (RFC 4648).
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : hex) {
    bits = bits << 4 | hex_digit(c);
    count += 4;
    if (count < 6) continue;
    count -= 6;
    out += kDigits[bits >> count & 63];
  }
  if (count > 0) out += kDigits[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string policy(const EmbeddedPage& page, std::string_view connect) {
  std::string out = "default-src 'none'; script-src";
  for (const EmbeddedScript& script : page.scripts)
    out += fmt::format(" 'sha256-{}'", base64_of_hex(script.sha256));
  return out + fmt::format(
                   "; style-src 'unsafe-inline'; img-src data:; connect-src {}; form-action "
                   "'none'; base-uri 'none'",
                   connect);
}

/// The page with its places filled.
std::string filled(const EmbeddedPage& page, const std::string& title, const std::string& data,
                   std::string_view connect) {
  std::string style, scripts;
  for (const std::string_view one : page.styles) style += one;
  for (const EmbeddedScript& script : page.scripts) {
    if (!scripts.empty()) scripts += "</script>\n    <script>";
    scripts += script.text;
  }
  const std::string csp = policy(page, connect);
  std::string out;
  std::string_view rest = page.page;
  while (true) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = rest.find("}}", begin);
    const std::string_view place = rest.substr(begin + 2, end - begin - 2);
    if (place == "title") out += markup_text(title);
    if (place == "csp") out += csp;
    if (place == "style") out += style;
    if (place == "data") out += data;
    if (place == "scripts") out += scripts;
    rest.remove_prefix(end + 2);
  }
}

std::string title_of(const std::vector<PagePart>& parts) {
  std::string out;
  for (const PagePart& part : parts) {
    const std::string study = part.report.value("study", "");
    if (out.find(study) == std::string::npos) out += (out.empty() ? "" : ", ") + study;
  }
  return "Fabricast: " + out;
}

}  // namespace

PagePart part_of(const Report& report) {
  return {{}, Json::parse(report_json(report)), machine_json(report.job)};
}

std::string report_page(const std::vector<PagePart>& parts) {
  return filled(embedded_report_page(), title_of(parts), page_data(parts), "'none'");
}

PagePart read_part(const std::string& json, const std::string& file) {
  const auto hint = "fabricast COMMAND --format json > FILE.json, or --html FILE.html";
  Json report = Json::parse(json, nullptr, false);
  if (report.is_discarded()) throw Error(Place{file, 0, {}}, "is no JSON", hint);
  const bool has_all = report.is_object() && report.contains("schema_version") &&
                       report.contains("study") && report.contains("tables");
  if (!has_all)
    throw Error(Place{file, 0, {}}, "is no report: it has no schema_version, study and tables",
                hint);
  if (report["schema_version"] != kSchemaVersion)
    throw Error(Place{file, 0, "schema_version"},
                fmt::format("{} is not {}", report["schema_version"].dump(), kSchemaVersion),
                "make the report again with this version");
  if (!report["study"].is_string() || !report["tables"].is_array())
    throw Error(Place{file, 0, {}}, "is no report: study is a text, tables are a list", hint);
  Json machine = machine_json(report.value("job", Json::object()));
  return {{}, std::move(report), std::move(machine)};
}

std::string ui_page() { return filled(embedded_ui_page(), "Fabricast", {}, "'self'"); }

Json machine_json(const Json& job) {
  const auto site = job.find("site");
  if (site == job.end() || !site->contains("topology")) return {};
  try {
    const auto own = site->find("parts");
    const PartsCatalogue parts =
        load_parts(own != site->end() && own->is_string() ? own->get<std::string>() : "");
    const Topology topology(site->at("topology").get<std::string>(), site->value("fabric", ""),
                            parts);
    int nodes = 0;
    if (const auto asked = site->find("nodes"); asked != site->end() && asked->is_array())
      for (const Json& one : *asked) nodes = std::max(nodes, one.get<int>());
    return Json::parse(topo_json(topology.cluster({nodes, true})));
  } catch (const Error&) {  // a file that has gone, or that came with parts of its own
    return {};
  } catch (const Json::exception&) {  // a report that somebody else wrote
    return {};
  }
}

}  // namespace fabricast
