#pragma once
// Checks of a node's text that its readers share.

#include <string_view>

namespace fabricast {

/// A NUMA node's cores as sysfs writes them: 32-bit words in hex, "00000000,00ffffff".
bool is_core_mask(std::string_view text);

}  // namespace fabricast
