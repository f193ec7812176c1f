#pragma once
// How a study asks for independent pieces of work: threads are the command's business.

#include <cstddef>
#include <functional>

namespace fabricast {

/// Calls one(0) .. one(count - 1), in any order and on any thread; each writes its own result.
using ForEach = std::function<void(std::size_t count, const std::function<void(std::size_t)>& one)>;

/// On this thread, from the first to the last.
inline void in_turn(std::size_t count, const std::function<void(std::size_t)>& one) {
  for (std::size_t i = 0; i < count; ++i) one(i);
}

}  // namespace fabricast
