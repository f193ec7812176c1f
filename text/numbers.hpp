#pragma once
// Numbers as text, without units. No '+', no blanks and no "0x" belong to one; a '-' does where the
// type has a sign. A double may have an exponent, and may be "inf" or "nan". The locale changes
// nothing. `base` is for whole numbers.

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace fabricast {

/// The number that `text` begins with; it is cut off. Without one, or with one that T does not
/// hold, nullopt, and the text stays as it is.
template <class T>
std::optional<T> take_number(std::string_view& text, [[maybe_unused]] int base = 10) {
  T value{};
  std::from_chars_result read;
  const char* const end = text.data() + text.size();
  if constexpr (std::integral<T>) {
    read = std::from_chars(text.data(), end, value, base);
  } else {
    read = std::from_chars(text.data(), end, value);
  }
  if (read.ec != std::errc{}) return std::nullopt;
  text = {read.ptr, end};
  return value;
}

/// The same, whatever follows it.
template <class T>
std::optional<T> leading_number(std::string_view text, int base = 10) {
  return take_number<T>(text, base);
}

/// The number that all of `text` is; nullopt if it is none, or one that T does not hold.
template <class T>
std::optional<T> to_number(std::string_view text, int base = 10) {
  const std::optional<T> value = take_number<T>(text, base);
  return text.empty() ? value : std::nullopt;
}

/// The same, neither infinite nor "nan".
inline std::optional<double> finite_number(std::string_view text) {
  const std::optional<double> value = to_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Digits, maybe with a '-' in front: a whole number, however large.
inline bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace fabricast
