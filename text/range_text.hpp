#pragma once
// Ranges as text, apart from what their ends are: "1..64" doubles, "1..64:x4" multiplies, "1..8:+1"
// adds.

#include <optional>
#include <string_view>

namespace fabricast {

struct RangeText {
  std::string_view first, last;
  std::string_view stride = "x2";

  bool adds() const { return stride.starts_with('+'); }
  /// What is added, or the factor; "" where the stride has neither sign.
  std::string_view by() const;
  /// Throws Error: nothing is added, or the factor is not above 1.
  [[noreturn]] void fail_stride() const;
};

/// Views of `text`, trimmed; nothing where it has no "..".
std::optional<RangeText> range_of_text(std::string_view text);

}  // namespace fabricast
