#pragma once
// What measured points are grouped by: ranges of size, where different things limit, and classes
// of hardware.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/io/bands/measured.hpp"

namespace fabricast {

inline constexpr std::size_t kSizeRanges = 4;
inline constexpr std::array<std::string_view, kSizeRanges> kSizeRangeNames = {
    "< 64 KiB", "64 KiB-4 MiB", "4-64 MiB", ">= 64 MiB"};

constexpr std::size_t size_range(Bytes size) {
  constexpr std::array<std::int64_t, kSizeRanges - 1> ends = {1 << 16, 1 << 22, 1 << 26};
  std::size_t range = 0;
  while (range < ends.size() && size.count >= ends[range]) ++range;
  return range;
}

/// GPU, kind of node, kind of network: "A100 nvswitch ib".
inline std::string class_of(const MeasuredRun& run) {
  return run.gpu_model + " " + run.node_kind + " " + run.net_kind;
}

}  // namespace fabricast
