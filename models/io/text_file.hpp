#pragma once
// A file of the user as text.

#include <cstddef>
#include <limits>
#include <string>

namespace fabricast {

/// At most the first `size_max` bytes. Throws Error with the path when it is a directory or cannot
/// be read; `hint` says what to give.
std::string read_text_file(const std::string& path, const std::string& hint = {},
                           std::size_t size_max = std::numeric_limits<std::size_t>::max());

}  // namespace fabricast
