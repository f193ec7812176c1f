#include "models/io/formulas/formula_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/numbers.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

/// What other languages write, and what it is here.
std::string hint_instead(std::string_view found) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> instead = {{
      {"AND", "and"},
      {"OR", "or"},
      {"NOT", "not"},
      {"&", "and"},
      {"|", "or"},
      {"!", "not, or !="},
  }};
  for (const auto& [theirs, ours] : instead) {
    if (found == fmt::format("\"{}\"", theirs)) return fmt::format("write {}", ours);
  }
  return {};
}

/// Like 2026-11-30.
bool is_date(std::string_view word) {
  constexpr std::string_view pattern = "dddd-dd-dd";
  return std::equal(word.begin(), word.end(), pattern.begin(), pattern.end(),
                    [](char c, char p) { return p == 'd' ? FormulaScanner::is_digit(c) : c == p; });
}

}  // namespace

void FormulaParser::fail_expected(std::string_view what) {
  const std::string found = scanner_.found();
  scanner_.fail(scanner_.offset(), fmt::format("expected {}, found {}", what, found),
                hint_instead(found));
}

/// In the place of a value stands something else, maybe the second half of =< or <>.
void FormulaParser::fail_expected_value() {
  if (scanner_.next() == '<' || scanner_.next() == '>') {
    const std::string found = scanner_.found();
    scanner_.fail(scanner_.offset(), fmt::format("expected a value, found {}", found),
                  "the comparisons are < <= > >= = !=");
  }
  fail_expected("a column, a number or a text");
}

void FormulaParser::deeper() {
  if (++depth_ > Formula::kNestingMost) {
    scanner_.fail(scanner_.offset(),
                  fmt::format("more than {} parentheses in each other", Formula::kNestingMost));
  }
}

bool FormulaParser::run() {
  if (scanner_.at_end()) {
    scanner_.fail(0, "an empty formula", "write a condition, like busbw_GBps >= 350");
  }
  const FormulaPart all = either();
  if (!scanner_.at_end()) fail_expected("the end");
  return builder_.finish(all);
}

/// The word that comes next; "" if none does. "-" belongs to it where it makes a column, or where
/// what stands before it is none: nodes-1 is a difference, dgx-h100 a word.
std::string_view FormulaParser::next_word() {
  if (!FormulaScanner::is_letter(scanner_.next())) return {};
  const std::string_view whole = scanner_.word();
  if (whole.find('-') == std::string_view::npos) return whole;
  if (!builder_.knows_columns()) {
    return whole.find(':') == std::string_view::npos ? whole.substr(0, whole.find('-')) : whole;
  }
  for (std::size_t end = whole.size(); end != std::string_view::npos; end = whole.rfind('-', end)) {
    if (builder_.column_of(whole.substr(0, end))) return whole.substr(0, end);
    if (end == 0) break;
    --end;
  }
  return whole;
}

bool FormulaParser::take_word(std::string_view word) {
  if (next_word() != word) return false;
  scanner_.go_to(scanner_.offset() + word.size());
  return true;
}

FormulaPart FormulaParser::either() {
  FormulaPart left = both();
  for (std::size_t at = here(); take_word("or"); at = here()) {
    left = builder_.logic(FormulaOp::either, at, left, both());
  }
  return left;
}

FormulaPart FormulaParser::both() {
  FormulaPart left = negation();
  for (std::size_t at = here(); take_word("and"); at = here()) {
    left = builder_.logic(FormulaOp::both, at, left, negation());
  }
  return left;
}

FormulaPart FormulaParser::negation() {
  const std::size_t at = here();
  return take_word("not") ? builder_.negation(at, compare()) : compare();
}

std::optional<FormulaOp> FormulaParser::take_comparison() {
  constexpr std::array<std::pair<std::string_view, FormulaOp>, 7> signs = {{
      {"<=", FormulaOp::at_most},
      {"<", FormulaOp::less},
      {">=", FormulaOp::at_least},
      {">", FormulaOp::greater},
      {"==", FormulaOp::equal},
      {"=", FormulaOp::equal},
      {"!=", FormulaOp::unequal},
  }};
  for (const auto& [sign, op] : signs) {
    if (scanner_.take(sign)) return op;
  }
  return std::nullopt;
}

FormulaPart FormulaParser::compare() {
  const FormulaPart left = sum();
  const std::size_t at = here();
  const std::optional<FormulaOp> op = take_comparison();
  if (!op) return left;
  const FormulaPart right = sum();
  const std::size_t second = scanner_.offset();
  if (take_comparison()) {
    scanner_.fail(second, "a second comparison without \"and\"", "write 1 < x and x < 3");
  }
  return builder_.compare(*op, at, left, right);
}

FormulaPart FormulaParser::sum() {
  FormulaPart left = product();
  while (true) {
    const std::size_t at = here();
    if (scanner_.take("+")) {
      left = builder_.arithmetic(FormulaOp::add, at, left, product());
    } else if (scanner_.take("-")) {
      left = builder_.arithmetic(FormulaOp::subtract, at, left, product());
    } else {
      return left;
    }
  }
}

FormulaPart FormulaParser::product() {
  FormulaPart left = unary();
  while (true) {
    const std::size_t at = here();
    if (scanner_.take("*")) {
      left = builder_.arithmetic(FormulaOp::multiply, at, left, unary());
    } else if (scanner_.take("/")) {
      left = builder_.arithmetic(FormulaOp::divide, at, left, unary());
    } else {
      return left;
    }
  }
}

FormulaPart FormulaParser::unary() {
  const std::size_t at = here();
  return scanner_.take("-") ? builder_.negate(at, atom()) : atom();
}

FormulaPart FormulaParser::atom() {
  const char c = scanner_.next();
  const std::size_t at = here();
  if (c == '(') return parentheses();
  if (c == '"' || c == '\'') return builder_.text(at, std::string(scanner_.take_quoted()));
  if (FormulaScanner::is_digit(c)) return number();
  if (FormulaScanner::is_letter(c)) return word();
  fail_expected_value();
}

FormulaPart FormulaParser::parentheses() {
  deeper();
  scanner_.take("(");
  const FormulaPart inside = either();
  if (!scanner_.take(")")) fail_expected("\")\"");
  --depth_;
  return inside;
}

FormulaPart FormulaParser::extreme(FormulaOp op, std::size_t at) {
  deeper();
  scanner_.take("(");
  std::vector<FormulaPart> parts = {sum()};
  while (scanner_.take(",")) parts.push_back(sum());
  if (!scanner_.take(")")) fail_expected("\",\" or \")\"");
  --depth_;
  return builder_.extreme(op, at, parts);
}

/// 2.30.7, 4:1, 2026-11-30: what begins like a number and is none.
std::optional<std::string_view> FormulaParser::word_of_digits(std::string_view number) {
  const std::string_view word = scanner_.word();
  const bool goes_on =
      word.size() > number.size() && (word[number.size()] == '.' || word[number.size()] == ':');
  if (goes_on || is_date(word)) return word;
  return std::nullopt;
}

/// Letters, maybe with "/s"; "" when none or a keyword follows. Does not go on.
std::string_view FormulaParser::unit_behind_number() {
  const std::size_t begin = scanner_.offset();
  if (scanner_.next() == '%') return text_.substr(begin, 1);
  const std::string_view word = next_word();
  if (word.empty() || is_formula_keyword(word)) return {};
  const std::string_view unit = word.substr(0, word.find_first_of("-.:"));
  const std::string_view rest = text_.substr(begin + unit.size());
  const auto is_part = [](char c) {
    return FormulaScanner::is_letter(c) || FormulaScanner::is_digit(c) || c == '_';
  };
  const bool is_column = builder_.knows_columns() && builder_.column_of(word);
  if (is_column && !dimension_of_unit(unit)) return {};
  const bool per_second = rest.starts_with("/s") && (rest.size() == 2 || !is_part(rest[2]));
  return text_.substr(begin, unit.size() + (per_second ? 2 : 0));
}

FormulaPart FormulaParser::number() {
  const std::size_t at = here(), begin = scanner_.offset();
  const std::string_view digits = scanner_.number();
  if (const auto word = word_of_digits(digits)) {
    scanner_.go_to(begin + word->size());
    return builder_.text(at, std::string(*word));
  }
  const std::optional<double> value = finite_number(digits);
  if (!value) scanner_.fail(begin, fmt::format("\"{}\" is too large or too small", digits));
  scanner_.go_to(begin + digits.size());
  const std::string_view unit = unit_behind_number();
  if (unit.empty()) return builder_.number(at, *value);
  const std::size_t unit_at = scanner_.offset();
  scanner_.go_to(unit_at + unit.size());
  if (unit == "%") return builder_.number(at, parse_percent(fmt::format("{} %", digits)));
  const std::optional<FormulaDimension> dimension = dimension_of_unit(unit);
  if (!dimension) {
    const std::string near = nearest(unit, formula_units());
    scanner_.fail(unit_at, fmt::format("unknown unit \"{}\"", unit),
                  near.empty() ? "units are like us, GiB, Gb/s, USD, %; a text stands in quotes"
                               : fmt::format("did you mean \"{}\"?", near));
  }
  if (digits.find_first_of("eE") != std::string_view::npos) {
    scanner_.fail(begin, fmt::format("\"{} {}\" has an exponent and a unit", digits, unit),
                  "write all digits, or another unit");
  }
  return builder_.quantity(at, fmt::format("{} {}", digits, unit), *dimension);
}

FormulaPart FormulaParser::word() {
  const std::size_t at = here(), begin = scanner_.offset();
  const std::string_view word = next_word();
  const bool known = builder_.column_of(word).has_value();
  if (!known && (is_formula_keyword(word) || !hint_instead(fmt::format("\"{}\"", word)).empty())) {
    fail_expected_value();
  }
  scanner_.go_to(begin + word.size());
  if (scanner_.next() == '(') {
    if (word == "min") return extreme(FormulaOp::least, at);
    if (word == "max") return extreme(FormulaOp::greatest, at);
    if (!known || !builder_.knows_columns()) {
      scanner_.fail(begin, fmt::format("unknown function \"{}\"", word),
                    hint_nearest(word, {"min", "max"}));
    }
  }
  const bool is_flag = word == "true" || word == "false";
  if (is_flag && !(builder_.knows_columns() && known)) {
    return builder_.flag(at, word == "true");
  }
  if (word.find(':') != std::string_view::npos) return builder_.text(at, std::string(word));
  const std::optional<FormulaName> name = builder_.column_of(word);
  if (!name && scanner_.next() == '[') builder_.fail_unknown_column(at, word);
  if (!name) return builder_.word(at, std::string(word));
  return builder_.column(at, filtered(*name));
}

FormulaName FormulaParser::filtered(FormulaName name) {
  if (!scanner_.take("[")) return name;
  do {
    filter_pair(name);
  } while (scanner_.take(","));
  if (!scanner_.take("]")) fail_expected("\",\" or \"]\"");
  return name;
}

void FormulaParser::filter_pair(FormulaName& name) {
  const std::size_t begin = scanner_.offset();
  const std::string_view word = next_word();
  if (word.empty()) fail_expected("a column");
  const std::optional<FormulaName> column = builder_.column_of(word);
  if (column && column->of_base) {
    scanner_.fail(begin, fmt::format("\"{}\" in a filter", word),
                  "\"base.\" stands before the column that is filtered");
  }
  if (!column) builder_.fail_unknown_column(here(), word);
  scanner_.go_to(begin + word.size());
  const bool twice = std::ranges::any_of(
      name.filter, [&](const auto& pair) { return pair.first == column->column; });
  if (twice) scanner_.fail(begin, fmt::format("\"{}\" stands twice in the filter", word));
  if (!scanner_.take("=") || scanner_.next() == '=') {
    scanner_.fail(scanner_.offset(), fmt::format("expected \"=\" behind \"{}\"", word),
                  "a filter names one row: column=value");
  }
  name.filter.emplace_back(column->column, filter_value(column->column));
}

/// A value with a unit becomes a number where the column's name tells a unit.
std::string FormulaParser::filter_value(const std::string& column) {
  const std::size_t begin = scanner_.offset();
  const bool quoted = scanner_.next() == '"' || scanner_.next() == '\'';
  const std::string value(quoted ? scanner_.take_quoted() : scanner_.take_until(",]"));
  if (!quoted && (value.empty() || value.find_first_of("\"'[(=") != std::string::npos)) {
    scanner_.fail(begin, fmt::format("expected a value of \"{}\", found \"{}\"", column, value),
                  "a value with other signs stands in quotes");
  }
  const std::optional<FormulaColumnUnit> unit = unit_of_column(column);
  const bool digit_first =
      !value.empty() && (FormulaScanner::is_digit(value.front()) || value.front() == '-');
  const Place place = formula_place(character_at(text_, begin));
  if (unit && digit_first && !finite_number(value)) {
    return fmt::format("{}", placed(place, [&] {
                         return read_quantity(value, unit->dimension) / unit->base_units;
                       }));
  }
  if (!unit && !quoted && digit_first && value.ends_with('%')) {
    return fmt::format("{}", placed(place, [&] { return parse_percent(value); }));
  }
  return value;
}

}  // namespace fabricast
