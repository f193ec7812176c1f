#pragma once
// The grammar of formulas, by recursive descent: one function for each rule of formula.hpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/formulas/formula_builder.hpp"
#include "models/io/formulas/formula_scanner.hpp"

namespace fabricast {

class FormulaParser {
 public:
  /// REQUIRES: both outlive it.
  FormulaParser(std::string_view text, const std::vector<std::string>& columns)
      : text_(text), scanner_(text), builder_(columns) {}

  /// Reads all of it; then nodes and names are the builder's. Whether it may be a condition.
  bool run();
  FormulaBuilder take() && { return std::move(builder_); }

 private:
  FormulaPart either();
  FormulaPart both();
  FormulaPart negation();
  FormulaPart compare();
  FormulaPart sum();
  FormulaPart product();
  FormulaPart unary();
  FormulaPart atom();
  FormulaPart parentheses();
  FormulaPart extreme(FormulaOp op, std::size_t at);
  FormulaPart number();
  FormulaPart word();
  FormulaName filtered(FormulaName name);
  void filter_pair(FormulaName& name);
  std::string filter_value(const std::string& column);

  std::size_t here() { return character_at(text_, scanner_.offset()); }
  std::string_view next_word();
  bool take_word(std::string_view word);
  std::optional<FormulaOp> take_comparison();
  std::string_view unit_behind_number();
  std::optional<std::string_view> word_of_digits(std::string_view number);
  void deeper();
  [[noreturn]] void fail_expected(std::string_view what);
  [[noreturn]] void fail_expected_value();

  std::string_view text_;
  FormulaScanner scanner_;
  FormulaBuilder builder_;
  int depth_ = 0;  ///< parentheses that are open
};

}  // namespace fabricast
