#pragma once
// Text that is too long for where it stands.

#include <algorithm>
#include <string_view>

namespace fabricast {

/// The first `most` bytes at most, without a part of a character of UTF-8, which goes on with bytes
/// 10xxxxxx.
constexpr std::string_view cut(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end);
}

}  // namespace fabricast
