#pragma once
// Limits and checks of a node's text that its readers share.

#include <string_view>

namespace fabricast {

inline constexpr int kPcieGenMax = 9;
inline constexpr int kPcieWidthMax = 32;

/// A NUMA node's cores as sysfs writes them: 32-bit words in hex, "00000000,00ffffff".
bool is_core_mask(std::string_view text);

}  // namespace fabricast
