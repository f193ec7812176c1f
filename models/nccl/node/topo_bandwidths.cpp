// What NCCL takes links to be worth, by generation (src/graph/topo.cc and topo.h).

#include <array>
#include <string_view>

#include "models/nccl/node/nccl_graph.hpp"

namespace fabricast {

float pcie_bw(std::string_view link_speed, int link_width) {
  // Rate of a lane in units of 100 Mb/s, after encoding (src/graph/topo.cc). Kernels before 5.7
  // write the speed without "PCIe", and NCCL knows only the spellings listed.
  struct Spelling {
    std::string_view text;
    int per_lane;
  };
  constexpr std::array<Spelling, 11> spellings = {{{"2.5 GT/s", 15},
                                                   {"5 GT/s", 30},
                                                   {"8 GT/s", 60},
                                                   {"16 GT/s", 120},
                                                   {"32 GT/s", 240},
                                                   {"2.5 GT/s PCIe", 15},
                                                   {"5.0 GT/s PCIe", 30},
                                                   {"8.0 GT/s PCIe", 60},
                                                   {"16.0 GT/s PCIe", 120},
                                                   {"32.0 GT/s PCIe", 240},
                                                   {"64.0 GT/s PCIe", 480}}};
  int per_lane = 60;
  for (const Spelling& spelling : spellings) {
    if (link_speed.starts_with(spelling.text)) {
      per_lane = spelling.per_lane;
      break;
    }
  }
  if (link_width == 0) link_width = 16;
  return static_cast<float>(link_width * per_lane / 80.0);
}

float nvlink_bw(int sm, NcclVersion version) {
  if (sm >= 100 && version >= kNccl2_25) return version >= kNccl2_27 ? 40.1F : 40.0F;
  if (sm >= 90) return version >= kNccl2_20 ? 20.6F : 20.0F;
  if (sm == 86) return 12.0F;
  if (sm >= 80) return 20.0F;
  if (sm >= 70) return 20.0F;
  if (sm >= 60) return 18.0F;
  return 20.0F;
}

namespace {

/// As 2.31 tells Zen apart: by the family's number, or by the text of it in hexadecimal.
float amd_socket_bw(int family) {
  switch (family) {
    case 0xAF:  // Zen 3 and 4
    case 25:
      return 24;
    case 0xBF:  // Zen 5
    case 26:
      return 32;
    default:
      return 16;
  }
}

}  // namespace

float socket_bw(CpuArch arch, CpuVendor vendor, int family, int model, NcclVersion version) {
  if (arch == CpuArch::power) return 32;
  if (arch == CpuArch::arm) return 6;
  if (arch != CpuArch::x86) return kLocalBw;
  switch (vendor) {
    case CpuVendor::intel: {
      // Models of family 6: 0x55 Skylake, 0x8F Sapphire Rapids, 0xCF Emerald Rapids and later.
      if (family != 6 || model < 0x55) return 6;
      if (version < kNccl2_26 || model < 0x8F) return 10;
      // 0xAD to 0xAF: Granite Rapids and its kin.
      const bool is_granite = version >= kNccl2_31 && model >= 0xAD && model <= 0xAF;
      return model < 0xCF && !is_granite ? 22 : 40;
    }
    case CpuVendor::amd:
      if (version < kNccl2_19) return kLocalBw;  // 2.18 does not know AMD
      return version < kNccl2_31 ? 16 : amd_socket_bw(family);
    case CpuVendor::zhaoxin:
      return family == 7 && model == 0x5B ? 9 : 6;
    case CpuVendor::unknown:
      return kLocalBw;
  }
  return kLocalBw;
}

}  // namespace fabricast
