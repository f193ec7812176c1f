#pragma once
// Findings of the linter in a text, as the tests of its rules write them.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/lint/lint.hpp"

namespace fabricast::test {

inline const VariableCatalogue& catalogue() {
  static const VariableCatalogue loaded = load_variables();
  return loaded;
}

inline LintResult linted(const std::string& text, const std::string& path = "a.sh",
                         NcclVersion version = kNccl2_21_5, const Cluster* cluster = nullptr) {
  LintInput input;
  input.files.push_back(parse_env_file(text, path));
  input.version = version;
  input.cluster = cluster;
  return lint(input, catalogue());
}

/// "line rule severity" of each finding, in order.
inline std::string found(const LintResult& result) {
  std::string out;
  for (const Finding& f : result.findings)
    out += fmt::format("{}{} {} {}", out.empty() ? "" : ", ", f.line, f.rule, to_text(f.severity));
  return out;
}
inline std::string found(const std::string& text, const std::string& path = "a.sh",
                         NcclVersion version = kNccl2_21_5) {
  return found(linted(text, path, version));
}
inline std::string set(const std::string& assignment, NcclVersion version = kNccl2_21_5) {
  return found("export " + assignment + "\n", "a.sh", version);
}

inline Cluster cluster(const char* topology, int nodes) {
  return load_cluster({topology, nodes, ""}, load_catalogue());
}
/// Of the settings of one script on a cluster.
inline LintResult on(const Cluster& hardware, const std::string& text,
                     NcclVersion version = kNccl2_21_5) {
  return linted(text, "a.sh", version, &hardware);
}
inline const Finding* find(const LintResult& result, std::string_view rule) {
  const auto at = std::ranges::find(result.findings, rule, &Finding::rule);
  return at == result.findings.end() ? nullptr : &*at;
}

}  // namespace fabricast::test
