#pragma once
// What the parser of formulas puts together, part by part: checks what goes with what, tells
// columns from texts and turns quantities into the units of columns.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/formulas/formula.hpp"

namespace fabricast {

enum class FormulaKind : std::uint8_t {
  number,
  text,       ///< in quotes, or a word that can be no column
  word,       ///< no column, though it could be one
  condition,  ///< true or false
  column,     ///< whatever the column holds
};

/// A part that was read: nodes from `begin` to where the next part begins.
struct FormulaPart {
  FormulaKind kind;
  std::size_t begin;
  std::size_t at;  ///< which character it begins at, for messages
};

/// What a value of the formula may be: `"+" of a text`.
[[noreturn]] void fail_operand(FormulaOp op, std::size_t at, std::string_view operand);

/// Parts are added in the order of the text; each is used by at most one other. All throw Error
/// with the path "character N".
class FormulaBuilder {
 public:
  /// REQUIRES: `columns` outlive it. Empty: any name is a column.
  explicit FormulaBuilder(const std::vector<std::string>& columns) : columns_(columns) {}

  bool knows_columns() const { return !columns_.empty(); }
  /// The column that a word names; nothing: none.
  std::optional<FormulaName> column_of(std::string_view word) const;
  [[noreturn]] void fail_unknown_column(std::size_t at, std::string_view word) const;

  FormulaPart number(std::size_t at, double value);
  FormulaPart quantity(std::size_t at, std::string text, FormulaDimension dimension);
  FormulaPart text(std::size_t at, std::string text);
  FormulaPart word(std::size_t at, std::string text);
  FormulaPart flag(std::size_t at, bool value);
  FormulaPart column(std::size_t at, FormulaName name);

  FormulaPart negate(std::size_t at, const FormulaPart& of);
  FormulaPart arithmetic(FormulaOp op, std::size_t at, const FormulaPart& left,
                         const FormulaPart& right);
  /// least, greatest. REQUIRES: the parts follow each other, with no other between.
  FormulaPart extreme(FormulaOp op, std::size_t at, std::span<const FormulaPart> of);
  FormulaPart compare(FormulaOp op, std::size_t at, const FormulaPart& left,
                      const FormulaPart& right);
  FormulaPart negation(std::size_t at, const FormulaPart& of);
  FormulaPart logic(FormulaOp op, std::size_t at, const FormulaPart& left,
                    const FormulaPart& right);

  /// The last part is all of the formula. Whether it is a condition, or a column that may be one.
  bool finish(const FormulaPart& all);
  std::vector<FormulaNode> nodes() && { return std::move(nodes_); }
  std::vector<FormulaName> names() && { return std::move(names_); }

 private:
  FormulaPart push(FormulaKind kind, FormulaNode node);
  FormulaPart join(FormulaKind kind, FormulaOp op, std::size_t at, const FormulaPart& first);
  std::span<FormulaNode> nodes_from(const FormulaPart& part) {
    return std::span(nodes_).subspan(part.begin);
  }
  bool has_column(const FormulaPart& from);
  void require_number(FormulaOp op, const FormulaPart& part) const;
  void require_condition(FormulaOp op, const FormulaPart& part) const;
  void check_conditions(FormulaOp op, std::size_t at, const FormulaPart& left,
                        const FormulaPart& right) const;
  void check_text(FormulaOp op, const FormulaPart& left, const FormulaPart& side);
  void read_quoted_quantity(const FormulaPart& left, FormulaPart& side);
  bool read_column_as_quantity(const FormulaPart& left, const FormulaPart& right);
  std::vector<FormulaColumnUnit> units_from(const FormulaPart& part, FormulaDimension dimension);
  void convert_quantities(const FormulaPart& from);
  void convert(FormulaNode& node, std::span<const FormulaColumnUnit> units) const;

  const std::vector<std::string>& columns_;
  std::vector<FormulaNode> nodes_;
  std::vector<FormulaName> names_;
};

}  // namespace fabricast
