#include "models/io/formulas/formula_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/io/formulas/formula_scanner.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kBasePrefix = "base.";

std::string_view operand_hint(FormulaOp op) {
  if (is_ordering(op) || op == FormulaOp::equal || op == FormulaOp::unequal) {
    return "texts, true and false compare with = and != only";
  }
  if (strength(op) < strength(FormulaOp::less)) return "compare it, like step_s < 1.5";
  return "only numbers go there, and columns that hold numbers";
}

}  // namespace

void fail_operand(FormulaOp op, std::size_t at, std::string_view operand) {
  fail_at_character(at, fmt::format("\"{}\" of {}", to_text(op), operand),
                    std::string(operand_hint(op)));
}

std::optional<FormulaName> FormulaBuilder::column_of(std::string_view word) const {
  const auto known = [&](std::string_view name) {
    return !name.empty() && (columns_.empty() ||
                             std::find(columns_.begin(), columns_.end(), name) != columns_.end());
  };
  if (is_formula_keyword(word)) return std::nullopt;
  if (word.starts_with(kBasePrefix) && known(word.substr(kBasePrefix.size()))) {
    return FormulaName{std::string(word.substr(kBasePrefix.size())), true, {}};
  }
  if (!known(word)) return std::nullopt;
  return FormulaName{std::string(word), false, {}};
}

void FormulaBuilder::fail_unknown_column(std::size_t at, std::string_view word) const {
  const bool of_base = word.starts_with(kBasePrefix);
  const std::string_view column = of_base ? word.substr(kBasePrefix.size()) : word;
  std::string near = nearest(column, columns_);
  // "stepp_s-base.step_s" is one word where its first part is no column.
  if (near.empty()) near = nearest(column.substr(0, column.find('-')), columns_);
  if (!near.empty() && of_base) near.insert(0, kBasePrefix);
  std::string hint =
      near.empty() ? hint_nearest(column, columns_) : fmt::format("did you mean \"{}\"?", near);
  fail_at_character(at, fmt::format("unknown column \"{}\"", word), std::move(hint));
}

FormulaPart FormulaBuilder::push(FormulaKind kind, FormulaNode node) {
  const FormulaPart part = {kind, nodes_.size(), node.at};
  nodes_.push_back(std::move(node));
  return part;
}

FormulaPart FormulaBuilder::number(std::size_t at, double value) {
  return push(FormulaKind::number, {.op = FormulaOp::number, .at = at, .number = value});
}

FormulaPart FormulaBuilder::quantity(std::size_t at, std::string text, FormulaDimension dimension) {
  const double value = placed(formula_place(at), [&] { return read_quantity(text, dimension); });
  return push(FormulaKind::number, {.op = FormulaOp::quantity,
                                    .at = at,
                                    .number = value,
                                    .text = std::move(text),
                                    .dimension = dimension});
}

FormulaPart FormulaBuilder::text(std::size_t at, std::string text) {
  return push(FormulaKind::text, {.op = FormulaOp::text, .at = at, .text = std::move(text)});
}

FormulaPart FormulaBuilder::word(std::size_t at, std::string text) {
  return push(FormulaKind::word, {.op = FormulaOp::text, .at = at, .text = std::move(text)});
}

FormulaPart FormulaBuilder::flag(std::size_t at, bool value) {
  return push(FormulaKind::condition,
              {.op = FormulaOp::flag, .at = at, .number = value ? 1.0 : 0.0});
}

FormulaPart FormulaBuilder::column(std::size_t at, FormulaName name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<std::size_t>(found - names_.begin());
  if (found == names_.end()) names_.push_back(std::move(name));
  return push(FormulaKind::column, {.op = FormulaOp::column, .at = at, .count = index});
}

FormulaPart FormulaBuilder::join(FormulaKind kind, FormulaOp op, std::size_t at,
                                 const FormulaPart& first) {
  nodes_.push_back({.op = op, .at = at});
  return {kind, first.begin, first.at};
}

void FormulaBuilder::require_number(FormulaOp op, const FormulaPart& part) const {
  if (part.kind == FormulaKind::word) fail_unknown_column(part.at, nodes_[part.begin].text);
  if (part.kind == FormulaKind::text) fail_operand(op, part.at, "a text");
  if (part.kind == FormulaKind::condition) fail_operand(op, part.at, "a condition");
}

void FormulaBuilder::require_condition(FormulaOp op, const FormulaPart& part) const {
  if (part.kind == FormulaKind::word) fail_unknown_column(part.at, nodes_[part.begin].text);
  if (part.kind == FormulaKind::text) fail_operand(op, part.at, "a text");
  if (part.kind == FormulaKind::number) fail_operand(op, part.at, "a number");
}

FormulaPart FormulaBuilder::negate(std::size_t at, const FormulaPart& of) {
  require_number(FormulaOp::negate, of);
  FormulaPart part = join(FormulaKind::number, FormulaOp::negate, at, of);
  part.at = at;
  return part;
}

FormulaPart FormulaBuilder::arithmetic(FormulaOp op, std::size_t at, const FormulaPart& left,
                                       const FormulaPart& right) {
  require_number(op, left);
  require_number(op, right);
  return join(FormulaKind::number, op, at, left);
}

FormulaPart FormulaBuilder::extreme(FormulaOp op, std::size_t at, std::span<const FormulaPart> of) {
  if (of.size() < 2) {
    fail_at_character(at, fmt::format("\"{}\" of one number", to_text(op)),
                      "two or more, with commas between them");
  }
  for (const FormulaPart& part : of) require_number(op, part);
  FormulaPart part = join(FormulaKind::number, op, at, of.front());
  nodes_.back().count = of.size();
  part.at = at;
  return part;
}

FormulaPart FormulaBuilder::negation(std::size_t at, const FormulaPart& of) {
  require_condition(FormulaOp::negation, of);
  FormulaPart part = join(FormulaKind::condition, FormulaOp::negation, at, of);
  part.at = at;
  return part;
}

FormulaPart FormulaBuilder::logic(FormulaOp op, std::size_t at, const FormulaPart& left,
                                  const FormulaPart& right) {
  require_condition(op, left);
  require_condition(op, right);
  return join(FormulaKind::condition, op, at, left);
}

bool FormulaBuilder::has_column(const FormulaPart& from) {
  return std::ranges::any_of(nodes_from(from),
                             [](const FormulaNode& node) { return node.op == FormulaOp::column; });
}

/// Both sides of a comparison of which one is true or false.
void FormulaBuilder::check_conditions(FormulaOp op, std::size_t at, const FormulaPart& left,
                                      const FormulaPart& right) const {
  for (const FormulaPart& side : {left, right}) {
    if (side.kind == FormulaKind::word) fail_unknown_column(side.at, nodes_[side.begin].text);
    if (side.kind == FormulaKind::text) fail_operand(op, at, "a text and a condition");
    if (side.kind == FormulaKind::number) fail_operand(op, at, "a number and a condition");
  }
  if (is_ordering(op)) fail_operand(op, at, "a condition");
}

/// One side of a comparison, maybe a text. `left`: the side that is on the left.
void FormulaBuilder::check_text(FormulaOp op, const FormulaPart& left, const FormulaPart& side) {
  const bool has_place = !is_ordering(op) && has_column(left);
  if (side.kind == FormulaKind::word && !has_place) {
    fail_unknown_column(side.at, nodes_[side.begin].text);
  }
  if (side.kind != FormulaKind::text) return;
  if (is_ordering(op)) fail_operand(op, side.at, "a text");
  if (!has_place) {
    fail_at_character(side.at, "a text is compared with what is no column",
                      "one side names a column");
  }
}

/// The units of the columns from `part` on that measure this.
std::vector<FormulaColumnUnit> FormulaBuilder::units_from(const FormulaPart& part,
                                                          FormulaDimension dimension) {
  std::vector<FormulaColumnUnit> units;
  for (const FormulaNode& node : nodes_from(part)) {
    if (node.op != FormulaOp::column) continue;
    const auto unit = unit_of_column(names_[node.count].column);
    if (!unit || unit->dimension != dimension) continue;
    if (std::ranges::find(units, *unit) == units.end()) units.push_back(*unit);
  }
  return units;
}

/// busbw_GBps > "400 Gb/s": a quantity in quotes beside a column that measures the same is none the
/// worse for them.
void FormulaBuilder::read_quoted_quantity(const FormulaPart& left, FormulaPart& side) {
  if (side.kind != FormulaKind::text) return;
  FormulaNode& node = nodes_[side.begin];
  const auto dimension = dimension_of_text(node.text);
  if (!dimension || units_from(left, *dimension).empty()) return;
  node.number =
      placed(formula_place(node.at), [&] { return read_quantity(node.text, *dimension); });
  node.op = FormulaOp::quantity;
  node.dimension = dimension;
  side.kind = FormulaKind::number;
}

/// uplink >= 400 Gb/s, where the column's name tells no unit: then its texts have one.
bool FormulaBuilder::read_column_as_quantity(const FormulaPart& left, const FormulaPart& right) {
  if (right.begin != left.begin + 1 || nodes_.size() != right.begin + 1) return false;
  FormulaNode* column = &nodes_[left.begin];
  FormulaNode* quantity = &nodes_[right.begin];
  if (column->op == FormulaOp::quantity) std::swap(column, quantity);
  if (column->op != FormulaOp::column || quantity->op != FormulaOp::quantity) return false;
  if (unit_of_column(names_[column->count].column)) return false;
  column->dimension = quantity->dimension;
  return true;
}

void FormulaBuilder::convert(FormulaNode& node, std::span<const FormulaColumnUnit> units) const {
  if (units.empty()) {
    fail_at_character(
        node.at,
        fmt::format("no column here is a {} as \"{}\" is", to_text(*node.dimension), node.text),
        "a column's name ends in its unit, like time_us; beside others write the "
        "number alone");
  }
  if (units.size() > 1) {
    fail_at_character(node.at,
                      fmt::format("\"{}\" stands beside columns in {} and in {}", node.text,
                                  units[0].name, units[1].name),
                      "write the number alone, in the unit that is meant");
  }
  node.number /= units.front().base_units;
  node.op = FormulaOp::number;
  node.text.clear();
  node.dimension.reset();
}

/// Quantities from there on become numbers in the unit of the columns from there on.
void FormulaBuilder::convert_quantities(const FormulaPart& from) {
  for (FormulaNode& node : nodes_from(from)) {
    if (node.op == FormulaOp::quantity) convert(node, units_from(from, *node.dimension));
  }
}

FormulaPart FormulaBuilder::compare(FormulaOp op, std::size_t at, const FormulaPart& left_part,
                                    const FormulaPart& right_part) {
  FormulaPart left = left_part, right = right_part;
  if (left.kind == FormulaKind::condition || right.kind == FormulaKind::condition) {
    check_conditions(op, at, left, right);
  } else {
    read_quoted_quantity(left_part, left);
    read_quoted_quantity(left_part, right);
    check_text(op, left, left);
    check_text(op, left, right);
    if (!read_column_as_quantity(left, right)) convert_quantities(left);
  }
  return join(FormulaKind::condition, op, at, left);
}

bool FormulaBuilder::finish(const FormulaPart& all) {
  if (all.kind == FormulaKind::word) fail_unknown_column(all.at, nodes_[all.begin].text);
  if (all.kind == FormulaKind::number) convert_quantities(all);
  return all.kind == FormulaKind::condition || all.kind == FormulaKind::column;
}

}  // namespace fabricast
