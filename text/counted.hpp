#pragma once
// Numbers of things as text.

#include <cstdint>
#include <string>
#include <string_view>

namespace fabricast {

/// "1 node", "2 nodes"
inline std::string counted(std::int64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace fabricast
