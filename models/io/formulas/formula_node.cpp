#include "models/io/formulas/formula_node.hpp"

namespace fabricast {

std::string_view to_text(FormulaOp op) {
  switch (op) {
    case FormulaOp::number:
    case FormulaOp::text:
    case FormulaOp::flag:
    case FormulaOp::quantity:
    case FormulaOp::column:
      return {};
    case FormulaOp::negate:
    case FormulaOp::subtract:
      return "-";
    case FormulaOp::add:
      return "+";
    case FormulaOp::multiply:
      return "*";
    case FormulaOp::divide:
      return "/";
    case FormulaOp::least:
      return "min";
    case FormulaOp::greatest:
      return "max";
    case FormulaOp::less:
      return "<";
    case FormulaOp::at_most:
      return "<=";
    case FormulaOp::greater:
      return ">";
    case FormulaOp::at_least:
      return ">=";
    case FormulaOp::equal:
      return "=";
    case FormulaOp::unequal:
      return "!=";
    case FormulaOp::negation:
      return "not";
    case FormulaOp::both:
      return "and";
    case FormulaOp::either:
      return "or";
  }
  return {};
}

int strength(FormulaOp op) {
  switch (op) {
    case FormulaOp::either:
      return 1;
    case FormulaOp::both:
      return 2;
    case FormulaOp::negation:
      return 3;
    case FormulaOp::less:
    case FormulaOp::at_most:
    case FormulaOp::greater:
    case FormulaOp::at_least:
    case FormulaOp::equal:
    case FormulaOp::unequal:
      return 4;
    case FormulaOp::add:
    case FormulaOp::subtract:
      return 5;
    case FormulaOp::multiply:
    case FormulaOp::divide:
      return 6;
    case FormulaOp::negate:
      return 7;
    case FormulaOp::number:
    case FormulaOp::text:
    case FormulaOp::flag:
    case FormulaOp::quantity:
    case FormulaOp::column:
    case FormulaOp::least:
    case FormulaOp::greatest:
      return 8;
  }
  return 8;
}

bool is_ordering(FormulaOp op) {
  return op == FormulaOp::less || op == FormulaOp::at_most || op == FormulaOp::greater ||
         op == FormulaOp::at_least;
}

}  // namespace fabricast
