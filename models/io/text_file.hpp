#pragma once
// A file of the user as text.

#include <string>

namespace fabricast {

/// Throws Error with the path when it is a directory or cannot be read; `hint` says what to give.
std::string read_text_file(const std::string& path, const std::string& hint = {});

}  // namespace fabricast
