#pragma once
// How many streaming multiprocessors a GPU has: what thread blocks of kernels that run at the same
// time share. NVIDIA's datasheets and architecture whitepapers (datasheet); B200: assumed, from
// published deviceQuery output.

#include <string_view>
#include <utility>

namespace fabricast {

/// By the part's name in the catalogue; 0 = not known.
constexpr int sms_of(std::string_view gpu) {
  constexpr std::pair<std::string_view, int> known[] = {
      {"V100_SXM2_32", 80}, {"A100_SXM4_80", 108}, {"A100_SXM4_40", 108}, {"A100_PCIE_80", 108},
      {"H100_SXM5", 132},   {"H100_PCIE", 114},    {"H100_NVL", 132},     {"H200_SXM", 132},
      {"B200_SXM", 148},    {"L40S", 142},         {"RTX_A6000", 84}};
  for (const auto& [name, sms] : known) {
    if (name == gpu) return sms;
  }
  return 0;
}

}  // namespace fabricast
