#pragma once
// For tests of what `advise` tries.

#include <string>

#include "models/studies/advise/setting_search.hpp"

namespace fabricast {

/// The move that sets one variable.
inline SettingMove move(const std::string& name, const std::string& value) {
  return {{{name, value}}, false};
}

}  // namespace fabricast
