#include "models/io/formulas/formula_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fabricast {
namespace {

constexpr std::string_view kFormulaBlanks = " \t\r\n";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::size_t character_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto continued = std::count_if(before.begin(), before.end(), continues_character);
  return before.size() - static_cast<std::size_t>(continued) + 1;
}

Place formula_place(std::size_t character) {
  return {{}, 0, fmt::format("character {}", character)};
}

void fail_at_character(std::size_t character, std::string message, std::string hint) {
  throw Error(formula_place(character), std::move(message), std::move(hint));
}

bool is_formula_keyword(std::string_view word) {
  return word == "and" || word == "or" || word == "not";
}

bool FormulaScanner::is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool FormulaScanner::is_digit(char c) { return c >= '0' && c <= '9'; }

bool FormulaScanner::is_part(std::size_t offset) const {
  if (offset >= text_.size()) return false;
  const char c = text_[offset];
  return is_letter(c) || is_digit(c) || c == '_';
}

std::size_t FormulaScanner::offset() {
  offset_ = std::min(text_.find_first_not_of(kFormulaBlanks, offset_), text_.size());
  return offset_;
}

char FormulaScanner::next() { return at_end() ? '\0' : text_[offset_]; }

bool FormulaScanner::take(std::string_view sign) {
  if (!text_.substr(offset()).starts_with(sign)) return false;
  offset_ += sign.size();
  return true;
}

std::string_view FormulaScanner::word() {
  constexpr std::string_view inside = "-.:";
  const std::size_t begin = offset();
  std::size_t end = begin;
  while (is_part(end) || (end > begin && end < text_.size() &&
                          inside.find(text_[end]) != std::string_view::npos && is_part(end + 1))) {
    ++end;
  }
  return text_.substr(begin, end - begin);
}

std::string_view FormulaScanner::number() {
  const std::size_t begin = offset();
  const auto digits_from = [&](std::size_t at) {
    while (at < text_.size() && is_digit(text_[at])) ++at;
    return at;
  };
  std::size_t end = digits_from(begin);
  if (end < text_.size() && text_[end] == '.') {
    const std::size_t fraction = digits_from(end + 1);
    if (fraction > end + 1) end = fraction;
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (digits_from(exponent) > exponent) end = digits_from(exponent);
  }
  return text_.substr(begin, end - begin);
}

std::string_view FormulaScanner::take_quoted() {
  const std::size_t begin = offset();
  const std::size_t end = text_.find(text_[begin], begin + 1);
  if (end == std::string_view::npos) {
    fail(begin, "a text begins here whose quote never ends", "a text ends with the same quote");
  }
  offset_ = end + 1;
  return text_.substr(begin + 1, end - begin - 1);
}

std::string_view FormulaScanner::take_until(std::string_view ends) {
  const std::size_t begin = offset();
  offset_ = std::min(text_.find_first_of(ends, begin), text_.size());
  const std::string_view found = text_.substr(begin, offset_ - begin);
  return found.substr(0, found.find_last_not_of(kFormulaBlanks) + 1);
}

std::string FormulaScanner::found() {
  if (at_end()) return "the end";
  if (const std::string_view next = word(); !next.empty()) return fmt::format("\"{}\"", next);
  std::size_t end = offset_ + 1;
  while (end < text_.size() && continues_character(text_[end])) ++end;
  if (text_[offset_] == '"') return "'\"'";
  return fmt::format("\"{}\"", text_.substr(offset_, end - offset_));
}

void FormulaScanner::fail(std::size_t offset, std::string message, std::string hint) const {
  fail_at_character(character_at(text_, offset), std::move(message), std::move(hint));
}

}  // namespace fabricast
