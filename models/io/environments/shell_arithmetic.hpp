#pragma once
// Shell arithmetic that needs no run: $((2 * 1024 * 1024)).

#include <cstdint>
#include <optional>
#include <string_view>

namespace fabricast {

/// Integers, + - * / %, << and parentheses. Nothing when there is a variable, a division by zero, a
/// number beyond 64 bits or anything else in it.
std::optional<std::int64_t> shell_arithmetic(std::string_view text);

}  // namespace fabricast
