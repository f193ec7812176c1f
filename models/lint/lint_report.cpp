#include <fmt/format.h>

#include <algorithm>

#include "models/io/report/columns.hpp"
#include "models/lint/lint_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

Json rules_json() {
  Json out = Json::array();
  for (const LintRule& rule : lint_rules())
    out.push_back(
        {{"id", rule.id}, {"name", rule.name}, {"shortDescription", {{"text", rule.what}}}});
  return out;
}

std::string message_of(const Finding& f) {
  std::string out = f.message + ".";
  if (!f.reason.empty()) out += " " + f.reason + ".";
  if (!f.suggestion.empty()) out += " Suggestion: " + f.suggestion + ".";
  if (!f.source.empty()) out += " (" + f.source + ")";
  return out;
}

/// As a URI reference: what else stands in paths is written with '%'.
std::string uri(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// Options of the command line are in no file.
Json locations_json(const Finding& f) {
  if (f.line == 0) return Json::array();
  Json physical = {{"artifactLocation", {{"uri", uri(f.file)}}}};
  if (f.line > 0) {
    physical["region"] = {{"startLine", f.line}};
    if (f.column > 0) physical["region"]["startColumn"] = f.column;
  }
  return Json::array({{{"physicalLocation", std::move(physical)}}});
}

Json result_json(const Finding& f) {
  const auto rules = lint_rules();
  const auto index = &lint_rule(f.rule) - rules.data();
  return {{"ruleId", f.rule},
          {"ruleIndex", index},
          {"level", to_text(f.severity)},
          {"message", {{"text", message_of(f)}}},
          {"locations", locations_json(f)}};
}

}  // namespace

Report lint_report(const LintResult& result, NcclVersion version) {
  using namespace column;
  ReportTable findings("findings", {text("rule"), text("severity"), text("file"), whole("line"),
                                    whole("column"), text("variable"), text("message"),
                                    text("reason"), text("source"), text("suggestion")});
  for (const Finding& f : result.findings)
    findings.add({f.rule, to_text(f.severity), f.file, f.line, f.column, f.variable, f.message,
                  f.reason, f.source, f.suggestion});
  Report out;
  out.study = "lint";
  out.job["site"] = {{"nccl", to_text(version)}};
  out.notes = result.notes;
  out.tables.push_back(std::move(findings));
  out.facts["settings"] = result.settings;
  return out;
}

std::string lint_sarif(const LintResult& result) {
  Json results = Json::array();
  for (const Finding& f : result.findings) results.push_back(result_json(f));
  Json driver = {
      {"name", "fabricast-lint"}, {"version", program_version()}, {"rules", rules_json()}};
  Json run = {{"tool", {{"driver", std::move(driver)}}},
              {"columnKind", "utf16CodeUnits"},
              {"results", std::move(results)}};
  return json_document(Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                            {"version", "2.1.0"},
                            {"runs", Json::array({std::move(run)})}});
}

}  // namespace fabricast
