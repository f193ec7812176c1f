#include "models/studies/decide/releases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/io/report/columns.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/nccl/base/releases.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

std::vector<std::string> variables_between(const VariableCatalogue& catalogue, NcclVersion a,
                                           NcclVersion b) {
  std::vector<std::string> out;
  if (a == b) return out;
  for (const Variable& one : catalogue.all()) {
    if (one.reader == VariableReader::libnccl && one.read_in(a) != one.read_in(b))
      out.push_back(one.name);
  }
  return out;
}

std::string answers_text(const ReleaseRow& row) {
  std::string out = row.version == row.rules ? "exact" : "as " + to_text(row.rules);
  if (row.version == kDefaultNccl) out += ", the default";
  if (row.version == kNccl2_31_0a7) out += "; a pre-release, its rules may still change";
  return out;
}

}  // namespace

std::vector<ReleaseRow> release_rows() {
  const VariableCatalogue catalogue = load_variables();
  std::vector<ReleaseRow> out;
  for (const NcclVersion version : known_releases()) {
    const NcclVersion rules = modelled_version(version);
    out.push_back({version, rules, variables_between(catalogue, version, rules)});
  }
  return out;
}

std::string releases_text(const std::vector<ReleaseRow>& rows) {
  TextTable table;
  table.add({"NCCL", "decisions", "variables that only one of the two reads"});
  for (const ReleaseRow& row : rows) {
    // A page for people names a few.
    constexpr std::size_t kShown = 3;
    const std::size_t shown = std::min(kShown, row.variables.size());
    std::string differs = fmt::format(
        "{}", fmt::join(row.variables.begin(),
                        row.variables.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    if (shown < row.variables.size())
      differs += fmt::format(" and {} more", row.variables.size() - shown);
    table.add({to_text(row.version), answers_text(row), differs});
  }
  return table.text() +
         "\nexact: decisions are those that the release's own code makes (docs/decisions.md). "
         "as ...: by the rules of the release\nof the series whose decisions are known; other "
         "patches of a series, and series after the last, answer in the same way.\n";
}

Report releases_report(const std::vector<ReleaseRow>& rows) {
  using namespace column;
  ReportTable table("releases", {kNccl, text("rules"), flag("exact", "yes"), flag("default", "yes"),
                                 text("variables")});
  for (const ReleaseRow& row : rows) {
    table.add({to_text(row.version), to_text(row.rules), row.version == row.rules,
               row.version == kDefaultNccl, fmt::format("{}", fmt::join(row.variables, " "))});
  }
  Report out;
  out.study = "releases";
  out.tables.push_back(std::move(table));
  return out;
}

}  // namespace fabricast
