#pragma once
// The project's own generator: the standard's distributions differ between libraries. One stream
// per use, seeded by whoever runs.

#include <cassert>
#include <cstdint>

namespace fabricast {

/// Spreads the bits of a number over all 64 bits, one to one.
/// Finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}

  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }

  /// 0 .. n - 1, by the upper bits: off by less than n / 2^32 from even. REQUIRES: n > 0.
  std::uint32_t below(std::uint32_t n) {
    assert(n > 0);
    return static_cast<std::uint32_t>((next() >> 32) * n >> 32);
  }

  /// 0 <= u < 1, a multiple of 2^-53: the same double everywhere.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace fabricast
