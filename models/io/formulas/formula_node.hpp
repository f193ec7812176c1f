#pragma once
// A formula as the parser leaves it: operations in the order in which they are done, each on the
// values that those before it left on a stack.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "models/io/formulas/formula_units.hpp"

namespace fabricast {

enum class FormulaOp : std::uint8_t {
  // Puts one value on the stack.
  number,
  text,
  flag,      ///< `true`, `false`
  quantity,  ///< a number with a unit that no column's name tells; its value is in base units
  column,
  // Takes one, or two, or (least, greatest) `count`, and puts one.
  negate,
  add,
  subtract,
  multiply,
  divide,
  least,
  greatest,
  less,
  at_most,
  greater,
  at_least,
  equal,
  unequal,
  negation,
  both,
  either,
};

struct FormulaNode {
  FormulaOp op{};
  std::size_t at = 0;     ///< which character of the text it stands at, from 1
  double number = 0;      ///< number, quantity; flag: 0 or 1
  std::string text = {};  ///< text; quantity: as it is written, "1 GiB"
  std::size_t count = 0;  ///< least, greatest: of values; column: index in Formula::names()
  /// Of a quantity. Of a column that stands beside one: its texts are read as such.
  std::optional<FormulaDimension> dimension = {};
};

/// "+", "<=", "and", "min"
std::string_view to_text(FormulaOp op);
/// How an operation binds: `or` least, then `and`, `not`, comparisons, sums, products, the sign,
/// and what needs no parentheses.
int strength(FormulaOp op);
/// < <= > >=
bool is_ordering(FormulaOp op);

}  // namespace fabricast
