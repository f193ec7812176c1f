#pragma once
// Formulas over the columns of a report: `where:` of a sweep, `query --where`, and the conditions
// of `solve`. docs/formulas.md is the page for users.
//
//   formula := or
//   or      := and {"or" and}
//   and     := not {"and" not}
//   not     := ["not"] compare
//   compare := sum [("<=" | "<" | ">=" | ">" | "=" | "==" | "!=") sum]
//   sum     := product {("+" | "-") product}
//   product := unary {("*" | "/") unary}
//   unary   := ["-"] atom
//   atom    := number [unit] | "text" | 'text' | name [filter] | "(" formula ")"
//            | ("min" | "max") "(" sum "," sum {"," sum} ")" | "true" | "false"
//   number  := digits ["." digits] ["e" ["+" | "-"] digits]
//   name    := ["base."] letter {letter | digit | "_" | "."}
//   filter  := "[" name "=" value {"," name "=" value} "]"
//
// Blanks and line breaks may stand between any two of these. A quoted text knows no escapes: one
// kind of quote may stand inside the other.
//
// A word that is no column is a text where the other side of its comparison has a column
// (topology = dgx-h100); such words hold "-", ".", ":" and digits, and 2.30.7, 4:1 and 2026-11-30
// are words, too. Directly behind the name of a column, "-" is a minus.
//
// A number with a unit becomes one in the unit of the columns in its comparison that measure the
// same (unit_of_column()): time_us < 2 ms is time_us < 2000. Where the other side is a single
// column whose name tells no unit, that column's texts are read with theirs. 3 % is 0.03.
//
// Not here: functions beside min and max, sums over rows, patterns of text.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/io/formulas/formula_node.hpp"

namespace fabricast {

/// std::monostate: no value.
using FormulaValue = std::variant<std::monostate, bool, double, std::string>;

/// What a formula wants to know: a column, maybe in the row that the filter tells.
struct FormulaName {
  std::string column;
  bool of_base = false;  ///< "base.": of what the question compares with
  /// Column and value, in the order written. A value with a unit is a number in the unit that the
  /// column's name tells, where it tells one; see is_filter_value().
  std::vector<std::pair<std::string, std::string>> filter;

  bool operator==(const FormulaName&) const = default;
};

/// "base.step_s", `busbw_GBps[size_bytes="1073741824"]`: as a formula has it.
std::string to_text(const FormulaName& name);

/// Whether a cell is what a filter asks for: as numbers where both are, else as texts.
bool is_filter_value(const FormulaValue& cell, const std::string& wanted);

/// Read once, then asked for row after row. Holds no state: may be used by several threads.
class Formula {
 public:
  using LookUp = std::function<FormulaValue(const FormulaName&)>;

  static constexpr std::size_t kCharactersMost = 4096;
  static constexpr int kNestingMost = 64;

  /// `columns`: names that are known; others are texts or errors. Empty: any name is a column.
  /// Throws Error whose path is "character N" of the text: for what is no formula, and for texts,
  /// numbers and conditions where they have no place.
  static Formula parse(std::string_view text, const std::vector<std::string>& columns = {});

  /// Each once, in order of appearance. look_up is asked for each once a row.
  const std::vector<FormulaName>& names() const { return names_; }
  /// A number is finite: what has no value, is divided by zero or leaves the range of a double has
  /// none, and a comparison of it has none. `and`, `or` have a value where one side decides.
  /// Throws Error where a column's value does not fit: text or flags in sums, text before "<".
  FormulaValue value(const LookUp& look_up) const;
  /// Without a value it does not hold. Throws Error when the formula is a number or a text.
  bool holds(const LookUp& look_up) const;
  /// What both sides of a comparison of numbers come to, where that is all of the formula: how far
  /// it is from changing. Nothing for other formulas, and where a side has no value.
  std::optional<std::pair<double, double>> sides(const LookUp& look_up) const;
  /// False: it is a number or a text, and holds() throws.
  bool is_condition() const { return condition_; }
  const std::string& text() const { return text_; }  ///< as it was given
  /// The same formula with numbers in the units of its columns, texts in quotes and no parentheses
  /// but those that are needed. Reads back, with the same columns, as an equal one.
  std::string canonical() const;

 private:
  std::string text_;
  std::vector<FormulaNode> nodes_;
  std::vector<FormulaName> names_;
  bool condition_ = false;
};

}  // namespace fabricast
