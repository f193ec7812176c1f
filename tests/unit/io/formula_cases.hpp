#pragma once
// A row of a report, and formulas of it, for tests.

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "models/io/formulas/formula.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast::formula_test {

using Row = std::map<std::string, FormulaValue>;

inline const std::vector<std::string> kKnown = {
    "topology", "collective",   "nodes",     "size_bytes", "time_us", "step_s",
    "mfu",      "busbw_GBps",   "memory_GB", "uplink",     "algo",    "fits",
    "over-sub", "usd_per_step", "site.nics", "wait_ns",    "nccl",    "tokens_per_s"};

inline const Row kRow = {
    {"topology", std::string("dgx-h100")},
    {"collective", std::string("all_gather")},
    {"nodes", 4.0},
    {"size_bytes", 1073741824.0},
    {"time_us", 2500.0},
    {"step_s", 1.02},
    {"base.step_s", 1.0},
    {"mfu", 0.45},
    {"busbw_GBps", 360.0},
    {"busbw_GBps[size_bytes=\"1073741824\", collective=\"all_gather\"]", 355.0},
    {"memory_GB", 60.0},
    {"uplink", std::string("400 Gb/s")},
    {"fits", true},
    {"over-sub", 2.0},
    {"usd_per_step", 3.5},
    {"site.nics", 8.0},
    {"nccl", std::string("2.30.7")},
    {"nothing", {}},
};

inline FormulaValue cell(const Row& row, const FormulaName& name) {
  const auto found = row.find(to_text(name));
  return found == row.end() ? FormulaValue() : found->second;
}

inline std::string shown(const FormulaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return "none";
}

inline std::string value_of(const Formula& formula, const Row& row = kRow) {
  return shown(formula.value([&](const FormulaName& name) { return cell(row, name); }));
}
/// Any name is a column.
inline std::string value_of(const std::string& text, const Row& row = kRow) {
  return value_of(Formula::parse(text), row);
}
/// Columns are those of kKnown.
inline std::string known_value(const std::string& text, const Row& row = kRow) {
  return value_of(Formula::parse(text, kKnown), row);
}
inline bool holds(const std::string& text, const Row& row = kRow) {
  return Formula::parse(text, kKnown).holds([&](const FormulaName& n) { return cell(row, n); });
}
inline std::string canonical(const std::string& text) {
  return Formula::parse(text, kKnown).canonical();
}
inline std::string refused(const std::string& text) {
  return error_text([&] { Formula::parse(text, kKnown); });
}
/// Read well, but not to be answered in this row.
inline std::string refused_in_row(const std::string& text, const Row& row = kRow) {
  const Formula formula = Formula::parse(text, kKnown);
  return error_text([&] { formula.holds([&](const FormulaName& n) { return cell(row, n); }); });
}
inline std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace fabricast::formula_test
