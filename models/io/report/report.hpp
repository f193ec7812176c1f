#pragma once
// The one result type of all studies. CSV and JSON of any report are made here; the page for people
// is the study's own. Nothing here depends on the clock, on the machine or on where files are: the
// same question, program and data give the same bytes.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// A cell, a fact or an input; null where there is no figure. Keys keep their order.
using Json = nlohmann::ordered_json;

/// Changes when a reader of the JSON below has to.
inline constexpr int kSchemaVersion = 1;

/// The name ends in the unit, if it has one: time_us, algbw_GBps.
struct ReportColumn {
  enum class Type : std::uint8_t { text, flag, whole, number };

  std::string_view name;
  Type type = Type::text;
  std::string_view unit = {};
  /// How CSV writes a number or a flag: ".3f", ".9g", "yes" (yes and no, else 1 and 0). JSON has
  /// all digits.
  std::string_view digits = {};
  /// What this part is called, of the whole that all such columns of the table with this unit add
  /// up to; "" = the figure is no part of one.
  std::string_view part = {};
};

/// A table of named columns.
class ReportTable {
 public:
  ReportTable(std::string name, std::vector<ReportColumn> columns)
      : name_(std::move(name)), columns_(std::move(columns)) {}

  /// REQUIRES: a cell for each column.
  void add(std::vector<Json> cells);

  const std::string& name() const { return name_; }
  const std::vector<ReportColumn>& columns() const { return columns_; }
  const std::vector<std::vector<Json>>& rows() const { return rows_; }
  /// The cell of a row. REQUIRES: the column is there.
  const Json& at(std::size_t row, std::string_view column) const;

 private:
  std::string name_;
  std::vector<ReportColumn> columns_;
  std::vector<std::vector<Json>> rows_;
};

struct Report {
  std::string study;                    ///< "bench"
  Json job = Json::object();            ///< what was asked, defaults filled in: `site`, and `ask`
  std::optional<std::uint64_t> seed;    ///< where something is drawn
  std::optional<std::uint64_t> digest;  ///< of what was simulated
  std::vector<std::string> notes;
  std::vector<ReportTable> tables;  ///< the first is what the study is about
  Json facts = Json::object();      ///< single figures

  /// REQUIRES: there is such a table.
  const ReportTable& table(std::string_view name) const;
};

/// schema_version, study, job, program, data, seed, digest, notes, tables, facts (docs/reports.md).
std::string report_json(const Report& report);
/// The first table. Notes are not in it.
std::string report_csv(const Report& report);

/// A figure, or null.
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// "0.2.0"
std::string_view program_version();
/// Digest of the data that the program came with: topologies, parts, workloads, variables.
std::string data_version();

}  // namespace fabricast
