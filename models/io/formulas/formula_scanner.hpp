#pragma once
// A cursor over the text of a formula: blanks, signs, words, numbers, quotes. Offsets are bytes.

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace fabricast {

/// Which character (UTF-8) of `text` begins at `offset`, from 1.
std::size_t character_at(std::string_view text, std::size_t offset);
/// The path "character N".
Place formula_place(std::size_t character);
/// Throws Error there.
[[noreturn]] void fail_at_character(std::size_t character, std::string message,
                                    std::string hint = {});

/// and, or, not: never columns.
bool is_formula_keyword(std::string_view word);

class FormulaScanner {
 public:
  /// REQUIRES: the text outlives it.
  explicit FormulaScanner(std::string_view text) : text_(text) {}

  /// Where the next thing begins, behind blanks.
  std::size_t offset();
  void go_to(std::size_t offset) { offset_ = offset; }
  /// The next character behind blanks; '\0' at the end.
  char next();
  bool at_end() { return offset() == text_.size(); }
  /// Goes on behind `sign` if that comes next.
  bool take(std::string_view sign);

  static bool is_letter(char c);
  static bool is_digit(char c);

  /// Letters, digits, "_", and "-", ".", ":" inside, from the next character on. Does not go on.
  std::string_view word();
  /// Digits, fraction, exponent. Does not go on. REQUIRES: a digit is next.
  std::string_view number();
  /// Goes on behind a text in quotes. REQUIRES: a quote is next.
  std::string_view take_quoted();
  /// Goes on to the first of `ends` (not behind it); the text up to there without blanks.
  std::string_view take_until(std::string_view ends);
  /// What comes next, for messages: a word, a character in quotes, "the end".
  std::string found();

  /// Throws Error that names the character at `offset`.
  [[noreturn]] void fail(std::size_t offset, std::string message, std::string hint = {}) const;

 private:
  bool is_part(std::size_t offset) const;  ///< of a word

  std::string_view text_;
  std::size_t offset_ = 0;
};

}  // namespace fabricast
