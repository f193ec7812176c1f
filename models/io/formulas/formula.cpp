#include "models/io/formulas/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/formulas/formula_builder.hpp"
#include "models/io/formulas/formula_parser.hpp"
#include "models/io/formulas/formula_scanner.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

std::string in_quotes(std::string_view text) {
  const char quote = text.find('"') == std::string_view::npos ? '"' : '\'';
  return fmt::format("{}{}{}", quote, text, quote);
}

bool is_nothing(const FormulaValue& value) { return std::holds_alternative<std::monostate>(value); }

/// What is no number has no value.
FormulaValue finite_value(double value) {
  return std::isfinite(value) ? FormulaValue(value) : FormulaValue();
}

/// For messages: "the text "x"", "the number 4", "true".
std::string value_text(const FormulaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return "the text " + in_quotes(*text);
  if (const auto* number = std::get_if<double>(&value))
    return fmt::format("the number {}", *number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return "no value";
}

double number_of(const FormulaNode& node, const FormulaValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  fail_operand(node.op, node.at, value_text(value));
}

/// Nothing: no value.
std::optional<bool> flag_of(const FormulaNode& node, const FormulaValue& value) {
  if (is_nothing(value)) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  fail_operand(node.op, node.at, value_text(value));
}

/// Flags are 0 and 1 beside numbers, "true" and "false" beside texts. A text beside a number is the
/// number that it reads as. REQUIRES: both have a value.
bool are_equal(const FormulaValue& left, const FormulaValue& right) {
  if (left.index() == right.index()) return left == right;
  if (std::holds_alternative<std::string>(right)) return are_equal(right, left);
  if (const auto* text = std::get_if<std::string>(&left)) {
    if (const auto* flag = std::get_if<bool>(&right)) return *text == (*flag ? "true" : "false");
    return finite_number(*text) == std::get<double>(right);
  }
  const auto number = [](const FormulaValue& value) {
    const auto* flag = std::get_if<bool>(&value);
    return flag != nullptr ? (*flag ? 1.0 : 0.0) : std::get<double>(value);
  };
  return number(left) == number(right);
}

FormulaValue compared(const FormulaNode& node, const FormulaValue& left,
                      const FormulaValue& right) {
  if (is_nothing(left) || is_nothing(right)) return {};
  if (node.op == FormulaOp::equal) return are_equal(left, right);
  if (node.op == FormulaOp::unequal) return !are_equal(left, right);
  const double a = number_of(node, left), b = number_of(node, right);
  if (node.op == FormulaOp::less) return a < b;
  if (node.op == FormulaOp::at_most) return a <= b;
  if (node.op == FormulaOp::greater) return a > b;
  return a >= b;
}

FormulaValue calculated(const FormulaNode& node, const FormulaValue& left,
                        const FormulaValue& right) {
  if (is_nothing(left) || is_nothing(right)) return {};
  const double a = number_of(node, left), b = number_of(node, right);
  if (node.op == FormulaOp::add) return finite_value(a + b);
  if (node.op == FormulaOp::subtract) return finite_value(a - b);
  if (node.op == FormulaOp::multiply) return finite_value(a * b);
  return b == 0 ? FormulaValue() : finite_value(a / b);
}

/// A side that decides does so whatever the other is.
FormulaValue decided(const FormulaNode& node, const FormulaValue& left, const FormulaValue& right) {
  const std::optional<bool> a = flag_of(node, left), b = flag_of(node, right);
  const bool decisive = node.op == FormulaOp::either;
  if (a == decisive || b == decisive) return decisive;
  return a && b ? FormulaValue(!decisive) : FormulaValue();
}

FormulaValue extreme_of(const FormulaNode& node, std::span<const FormulaValue> values) {
  if (std::ranges::any_of(values, is_nothing)) return {};
  double found = number_of(node, values.front());
  for (const FormulaValue& value : values.subspan(1)) {
    const double number = number_of(node, value);
    found = node.op == FormulaOp::least ? std::min(found, number) : std::max(found, number);
  }
  return found;
}

/// A column's value as what its place asks for: a quantity beside one, in base units.
FormulaValue column_value(const FormulaNode& node, const FormulaName& name,
                          const FormulaValue& found) {
  if (const auto* number = std::get_if<double>(&found)) {
    if (!std::isfinite(*number)) return {};
    if (!node.dimension) return found;
    fail_at_character(node.at,
                      fmt::format("\"{}\" holds {} without a unit", name.column, value_text(found)),
                      "compare it with a number alone");
  }
  const auto* text = std::get_if<std::string>(&found);
  if (text == nullptr || !node.dimension || dimension_of_text(*text) != node.dimension) {
    return found;
  }
  return placed(formula_place(node.at), [&] { return read_quantity(*text, *node.dimension); });
}

/// Does the operations one after the other on a stack.
class FormulaMachine {
 public:
  FormulaMachine(const std::vector<FormulaName>& names, const Formula::LookUp& look_up)
      : names_(names) {
    for (const FormulaName& name : names) found_.push_back(look_up(name));
  }

  FormulaValue run(std::span<const FormulaNode> nodes) {
    for (const FormulaNode& node : nodes) step(node);
    return std::move(stack_.back());
  }
  /// Of all operations but the last, which compares two.
  std::pair<FormulaValue, FormulaValue> compared_by(std::span<const FormulaNode> nodes) {
    for (const FormulaNode& node : nodes.first(nodes.size() - 1)) step(node);
    return {top(1), top(0)};
  }

 private:
  void step(const FormulaNode& node) {
    switch (node.op) {
      case FormulaOp::number:
      case FormulaOp::quantity:
        return put(0, node.number);
      case FormulaOp::flag:
        return put(0, node.number != 0);
      case FormulaOp::text:
        return put(0, node.text);
      case FormulaOp::column:
        return put(0, column_value(node, names_[node.count], found_[node.count]));
      case FormulaOp::negate:
        return put(1, is_nothing(top(0)) ? FormulaValue() : FormulaValue(-number_of(node, top(0))));
      case FormulaOp::negation: {
        const std::optional<bool> flag = flag_of(node, top(0));
        return put(1, flag ? FormulaValue(!*flag) : FormulaValue());
      }
      case FormulaOp::add:
      case FormulaOp::subtract:
      case FormulaOp::multiply:
      case FormulaOp::divide:
        return put(2, calculated(node, top(1), top(0)));
      case FormulaOp::least:
      case FormulaOp::greatest:
        return put(node.count, extreme_of(node, std::span(stack_).last(node.count)));
      case FormulaOp::less:
      case FormulaOp::at_most:
      case FormulaOp::greater:
      case FormulaOp::at_least:
      case FormulaOp::equal:
      case FormulaOp::unequal:
        return put(2, compared(node, top(1), top(0)));
      case FormulaOp::both:
      case FormulaOp::either:
        return put(2, decided(node, top(1), top(0)));
    }
  }

  const FormulaValue& top(std::size_t below) const { return stack_[stack_.size() - 1 - below]; }
  void put(std::size_t instead_of, FormulaValue value) {
    stack_.resize(stack_.size() - instead_of);
    stack_.push_back(std::move(value));
  }

  const std::vector<FormulaName>& names_;
  std::vector<FormulaValue> found_;  ///< of each name
  std::vector<FormulaValue> stack_;
};

/// Writes operations as a formula again: texts on a stack, each with how strongly it is bound.
class FormulaWriter {
 public:
  explicit FormulaWriter(const std::vector<FormulaName>& names) : names_(names) {}

  std::string run(const std::vector<FormulaNode>& nodes) {
    for (const FormulaNode& node : nodes) step(node);
    return std::move(stack_.back().text);
  }

 private:
  struct Written {
    std::string text;
    int bound;
  };

  /// The topmost text, in parentheses if it is bound less than that. Taken off.
  std::string taken(int bound) {
    Written written = std::move(stack_.back());
    stack_.pop_back();
    return written.bound < bound ? fmt::format("({})", written.text) : std::move(written.text);
  }

  void step(const FormulaNode& node) {
    const int bound = strength(node.op);
    std::string text;
    if (node.op == FormulaOp::least || node.op == FormulaOp::greatest) {
      for (std::size_t i = 0; i < node.count; ++i) {
        text = taken(strength(FormulaOp::add)) + (i == 0 ? "" : ", ") + text;
      }
      text = fmt::format("{}({})", to_text(node.op), text);
    } else if (node.op == FormulaOp::negate) {
      text = "-" + taken(bound + 1);
    } else if (node.op == FormulaOp::negation) {
      text = "not " + taken(bound + 1);
    } else if (to_text(node.op).empty()) {
      text = leaf(node);
    } else {
      // What stands on the left of itself needs none: a - b - c. Comparisons do not follow another.
      const std::string right = taken(bound + 1);
      const std::string left = taken(bound == strength(FormulaOp::less) ? bound + 1 : bound);
      text = fmt::format("{} {} {}", left, to_text(node.op), right);
    }
    stack_.push_back({std::move(text), bound});
  }

  std::string leaf(const FormulaNode& node) const {
    if (node.op == FormulaOp::number) return fmt::format("{}", node.number);
    if (node.op == FormulaOp::flag) return node.number != 0 ? "true" : "false";
    if (node.op == FormulaOp::column) return to_text(names_[node.count]);
    return node.op == FormulaOp::text ? in_quotes(node.text) : node.text;
  }

  const std::vector<FormulaName>& names_;
  std::vector<Written> stack_;
};

}  // namespace

std::string to_text(const FormulaName& name) {
  std::string text = (name.of_base ? "base." : "") + name.column;
  for (std::size_t i = 0; i < name.filter.size(); ++i) {
    const auto& [column, value] = name.filter[i];
    text += fmt::format("{}{}={}", i == 0 ? "[" : ", ", column, in_quotes(value));
  }
  return name.filter.empty() ? text : text + "]";
}

bool is_filter_value(const FormulaValue& cell, const std::string& wanted) {
  return !is_nothing(cell) && are_equal(cell, wanted);
}

Formula Formula::parse(std::string_view text, const std::vector<std::string>& columns) {
  if (text.size() > kCharactersMost) {
    throw Error(fmt::format("a formula of {} characters", text.size()),
                fmt::format("at most {}", kCharactersMost));
  }
  FormulaParser parser(text, columns);
  Formula formula;
  formula.text_ = text;
  formula.condition_ = parser.run();
  FormulaBuilder built = std::move(parser).take();
  formula.nodes_ = std::move(built).nodes();
  formula.names_ = std::move(built).names();
  return formula;
}

FormulaValue Formula::value(const LookUp& look_up) const {
  return FormulaMachine(names_, look_up).run(nodes_);
}

bool Formula::holds(const LookUp& look_up) const {
  const FormulaValue found = condition_ ? value(look_up) : FormulaValue();
  if (condition_ && is_nothing(found)) return false;
  if (const auto* flag = std::get_if<bool>(&found)) return *flag;
  throw Error(condition_ ? fmt::format("\"{}\" is {}, no condition", text_, value_text(found))
                         : fmt::format("\"{}\" is no condition", text_),
              "compare it, like step_s < 1.5");
}

std::optional<std::pair<double, double>> Formula::sides(const LookUp& look_up) const {
  const FormulaOp last = nodes_.back().op;
  if (!is_ordering(last) && last != FormulaOp::equal && last != FormulaOp::unequal)
    return std::nullopt;
  const auto [left, right] = FormulaMachine(names_, look_up).compared_by(nodes_);
  const auto *const a = std::get_if<double>(&left), *const b = std::get_if<double>(&right);
  if (a == nullptr || b == nullptr) return std::nullopt;
  return std::pair{*a, *b};
}

std::string Formula::canonical() const { return FormulaWriter(names_).run(nodes_); }

}  // namespace fabricast
