#pragma once
// How a study asks for independent pieces of work: threads are the command's business.

#include <cstddef>
#include <functional>

namespace fabricast {

/// Calls one(0) .. one(count - 1), in any order and on any thread; each writes its own result.
using ForEach = std::function<void(std::size_t count, const std::function<void(std::size_t)>& one)>;

}  // namespace fabricast
