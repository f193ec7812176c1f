#pragma once
// What a variable may be named and hold, where it comes from outside.

#include <string_view>

namespace fabricast {

/// Whether Environment::set() takes them: a name of letters, digits and _, a value without control
/// characters, as a line of a job script could not say those.
bool is_settable(std::string_view name, std::string_view value);

}  // namespace fabricast
