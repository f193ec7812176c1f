#include "models/studies/rules/rule_claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kNestedMax = 64;  // parentheses in a formula

/// Recursive descent; each function reads what binds at least as tightly as its name says.
class Formula {
 public:
  Formula(std::string_view text, const FormulaValues& values) : text_(text), values_(values) {}

  double value() {
    const double out = sum();
    if (!rest().empty()) fail();
    return out;
  }

 private:
  std::string_view rest() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return text_.substr(at_);
  }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  [[noreturn]] void fail() {
    throw Error(fmt::format("\"{}\" is no figure at \"{}\"", text_, rest()),
                "numbers and + - * / ( ) log2( ) of n (ranks), nodes and bytes");
  }

  double sum() {
    double out = product();
    for (;;) {
      if (take("+")) {
        out += product();
      } else if (take("-")) {
        out -= product();
      } else {
        return out;
      }
    }
  }
  double product() {
    double out = factor();
    for (;;) {
      if (take("*")) {
        out *= factor();
      } else if (take("/")) {
        out /= factor();
      } else {
        return out;
      }
    }
  }
  double factor() {
    if (take("-")) return -deeper(&Formula::factor);
    if (take("log2(")) return std::log2(closed());
    if (take("(")) return closed();
    if (take("nodes")) return values_.nodes;
    if (take("n")) return values_.n;
    if (take("bytes")) return values_.bytes;
    return number();
  }
  double closed() {
    const double out = deeper(&Formula::sum);
    if (!take(")")) fail();
    return out;
  }
  double deeper(double (Formula::*read)()) {
    if (++nested_ > kNestedMax) fail();
    const double out = (this->*read)();
    --nested_;
    return out;
  }
  double number() {
    std::string_view left = rest();
    const auto out = take_number<double>(left);
    if (!out || !std::isfinite(*out)) fail();
    at_ = text_.size() - left.size();
    return *out;
  }

  std::string_view text_;
  const FormulaValues& values_;
  std::size_t at_ = 0;
  int nested_ = 0;
};

struct UnitWord {
  std::string_view word;
  double worth;  ///< in the dimension's unit
};
constexpr std::array kTimes = {UnitWord{"ns", 1e-3}, UnitWord{"us", 1}, UnitWord{"ms", 1e3},
                               UnitWord{"s", 1e6}};
constexpr std::array kRates = {UnitWord{"TB/s", 1e3}, UnitWord{"GB/s", 1}, UnitWord{"MB/s", 1e-3},
                               UnitWord{"Gb/s", 0.125}};
constexpr std::array kBytes = {
    UnitWord{"KiB", 1024}, UnitWord{"MiB", 1024. * 1024}, UnitWord{"GiB", 1024. * 1048576},
    UnitWord{"kB", 1e3},   UnitWord{"MB", 1e6},           UnitWord{"GB", 1e9},
    UnitWord{"B", 1}};
constexpr std::array kShares = {UnitWord{"%", 1}};
constexpr std::array kRatios = {UnitWord{"x", 1}, UnitWord{"", 1}};
constexpr std::array kCounts = {UnitWord{"", 1}};
constexpr std::array kPrices = {UnitWord{"USD", 1}};

std::span<const UnitWord> units_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return kTimes;
    case Dimension::rate:
      return kRates;
    case Dimension::bytes:
      return kBytes;
    case Dimension::share:
      return kShares;
    case Dimension::ratio:
      return kRatios;
    case Dimension::count:
      return kCounts;
    case Dimension::price:
      return kPrices;
    case Dimension::word:
      break;
  }
  return {};
}

/// The unit at the end of the text, which is cut off. Units stand after a digit, a blank or ")".
double take_unit(std::string_view& text, Dimension dimension) {
  const std::span<const UnitWord> units = units_of(dimension);
  for (const UnitWord& unit : units) {
    if (!text.ends_with(unit.word)) continue;
    const std::string_view left = text.substr(0, text.size() - unit.word.size());
    const char before = left.empty() ? '?' : left.back();
    if (!unit.word.empty() && before != ' ' && before != ')' && (before < '0' || before > '9'))
      continue;
    text = trimmed(left);
    return unit.worth;
  }
  std::vector<std::string> known;
  for (const UnitWord& unit : units) known.emplace_back(unit.word);
  throw Error(fmt::format("\"{}\" has no unit of this figure", text),
              fmt::format("write one of {}", fmt::join(known, ", ")));
}

std::vector<std::string> alternatives(std::string_view text) {
  constexpr std::string_view kOr = " or ";
  std::vector<std::string> out;
  for (;;) {
    const std::size_t at = text.find(kOr);
    out.emplace_back(trimmed(text.substr(0, at)));
    if (out.back().empty()) throw Error("a word is missing beside \"or\"");
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + kOr.size());
  }
}

/// "Ring LL" holds "Ring" and "LL", not "Ri".
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (is_whole_word(text, at, word.size())) return true;
  return false;
}

bool has_all_words(std::string_view text, std::string_view words) {
  if (has_word(text, words)) return true;
  const std::size_t blank = words.find(' ');
  return blank != std::string_view::npos && has_word(text, words.substr(0, blank)) &&
         has_all_words(text, words.substr(blank + 1));
}

}  // namespace

double formula_value(std::string_view text, const FormulaValues& values) {
  return Formula(text, values).value();
}

bool Claim::holds(double figure, const FormulaValues& values) const {
  const double inf = std::numeric_limits<double>::infinity();
  double least = low.empty() ? -inf : formula_value(low, values) * unit;
  double most = high.empty() ? inf : formula_value(high, values) * unit;
  if (strict) return figure > least && figure < most;
  least -= low.empty() ? 0 : std::abs(least) * tolerance;
  most += high.empty() ? 0 : std::abs(most) * tolerance;
  return figure >= least && figure <= most;
}

bool Claim::holds(std::string_view found) const {
  return std::ranges::any_of(words, [&](const std::string& w) { return has_all_words(found, w); });
}

Claim parse_claim(std::string_view text, Dimension dimension, std::optional<double> tolerance) {
  Claim out;
  out.text = std::string(text);
  if (dimension == Dimension::word) {
    out.words = alternatives(text);
    return out;
  }
  std::string_view rest = trimmed(text);
  out.unit = take_unit(rest, dimension);
  const bool above = rest.starts_with('>'), below = rest.starts_with('<');
  if (above || below) {
    out.strict = !rest.substr(1).starts_with('=');
    rest = trimmed(rest.substr(out.strict ? 1 : 2));
    (above ? out.low : out.high) = std::string(rest);
    out.tolerance = tolerance.value_or(0);
  } else if (const std::size_t dots = rest.find(".."); dots != std::string_view::npos) {
    out.low = std::string(trimmed(rest.substr(0, dots)));
    out.high = std::string(trimmed(rest.substr(dots + 2)));
    out.tolerance = tolerance.value_or(0);
  } else {
    out.low = out.high = std::string(rest);
    out.tolerance = tolerance.value_or(kClaimTolerance);
  }
  const FormulaValues any{2, 2, 2};
  for (const std::string& bound : {out.low, out.high})
    if (!bound.empty()) formula_value(bound, any);
  if (out.low.empty() && out.high.empty()) throw Error(fmt::format("\"{}\" is no figure", text));
  if (!out.low.empty() && !out.high.empty() &&
      formula_value(out.low, any) > formula_value(out.high, any))
    throw Error(fmt::format("\"{}\" begins above its end: this can never hold", text));
  return out;
}

std::string figure_text(double figure, Dimension dimension) {
  const double size = std::abs(figure);
  switch (dimension) {
    case Dimension::time:
      if (size >= 1e6) return fmt::format("{:.4g} s", figure * 1e-6);
      if (size >= 1e3) return fmt::format("{:.4g} ms", figure * 1e-3);
      return fmt::format("{:.3g} us", figure);
    case Dimension::rate:
      return fmt::format("{:.{}f} GB/s", figure, size >= 100 ? 0 : 1);
    case Dimension::bytes:
      if (size >= 1e9) return fmt::format("{:.5g} GB", figure * 1e-9);
      if (size >= 1e6) return fmt::format("{:.5g} MB", figure * 1e-6);
      return fmt::format("{:.0f} B", figure);
    case Dimension::share:
      return fmt::format("{:.1f} %", figure + 0.0);
    case Dimension::ratio:
      return fmt::format("{:.3f} x", figure);
    case Dimension::count:
      return fmt::format("{:.6g}", figure);
    case Dimension::price:
      return fmt::format("{:.3g} USD", figure);
    case Dimension::word:
      break;
  }
  return {};
}

}  // namespace fabricast
