#pragma once
// The words of an enum in one place: for what is printed, what is read, hints and --help.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/words.hpp"

namespace fabricast {

/// Words of an enum whose values are 0, 1, ...: one for each value, in their order.
template <class E, std::size_t n>
struct EnumWords {
  std::array<std::string_view, n> words;

  constexpr std::string_view operator[](E value) const {
    return words[static_cast<std::size_t>(value)];
  }
  constexpr std::optional<E> find(std::string_view word) const {
    const auto at = std::ranges::find(words, word);
    if (at == words.end()) return std::nullopt;
    return static_cast<E>(at - words.begin());
  }
  /// Throws Error, `unknown WHAT "wrod"` with the nearest word.
  E parse(std::string_view what, std::string_view word) const {
    const std::optional<E> found = find(word);
    if (!found) fail_unknown(what, word, list());
    return *found;
  }
  std::vector<std::string> list() const { return {words.begin(), words.end()}; }
};

template <class E, class... Word>
constexpr EnumWords<E, sizeof...(Word)> enum_words(Word... words) {
  return {{words...}};
}

}  // namespace fabricast
