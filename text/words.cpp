#include "text/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

constexpr std::size_t kEdit = 2;        // one letter more, less or another
constexpr std::size_t kCaseChange = 1;  // "KB" is nearer to "kB" than to "GB"

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Of ASCII.
bool is_letter_or_digit(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

std::size_t change_cost(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? kCaseChange : kEdit;
}

/// Letters that change places are one edit.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j * kEdit;
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = (i + 1) * kEdit;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = row[j] + change_cost(a[i], b[j]);
      next[j + 1] = std::min({changed, row[j + 1] + kEdit, next[j] + kEdit});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        next[j + 1] = std::min(next[j + 1], before[j - 1] + kEdit);
    }
    before = std::exchange(row, next);
  }
  return row[b.size()];
}

/// A word that begins a known one is nearer than any edit of it.
std::size_t distance_to(std::string_view word, std::string_view known) {
  constexpr std::size_t letters_min = 2, abbreviated = 1;
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  if (word.size() >= letters_min && word.size() < known.size() &&
      std::equal(word.begin(), word.end(), known.begin(), same)) {
    return abbreviated + distance(word, known.substr(0, word.size()));
  }
  return distance(word, known);
}

}  // namespace

bool same_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string plain_word(std::string_view text) {
  std::string out;
  for (const char c : lower_case(text))
    if (is_letter_or_digit(c)) out += c;
  return out;
}

bool is_whole_word(std::string_view text, std::size_t at, std::size_t size) {
  return (at == 0 || !is_letter_or_digit(text[at - 1])) &&
         (at + size >= text.size() || !is_letter_or_digit(text[at + size]));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> comma_items(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t comma = text.find(',');
    out.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string> comma_words(std::string_view text) {
  if (text.empty()) return {};
  const std::vector<std::string_view> items = comma_items(text);
  return {items.begin(), items.end()};
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t word_max = 64;  // nobody mistypes more; keeps hostile input cheap
  if (word.size() > word_max) return {};
  const std::size_t far = kEdit * std::max<std::size_t>(1, word.size() / 3) + 1;
  std::size_t best_distance = far;
  std::string best;
  for (const std::string& candidate : known) {
    const std::size_t d = distance_to(word, candidate);
    const bool nearer = d < best_distance || (d == best_distance && candidate.size() < best.size());
    if (nearer && d < kEdit * std::max(word.size(), candidate.size())) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string hint_nearest(std::string_view word, const std::vector<std::string>& known) {
  if (const std::string near = nearest(word, known); !near.empty()) {
    return fmt::format("did you mean \"{}\"?", near);
  }
  if (known.empty()) return {};
  return fmt::format("known: {}", fmt::join(known, ", "));
}

void fail_unknown(std::string_view what, std::string_view word,
                  const std::vector<std::string>& known) {
  throw Error(fmt::format("unknown {} \"{}\"", what, word), hint_nearest(word, known));
}

}  // namespace fabricast
