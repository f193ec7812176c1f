#pragma once
// Strong units of the simulator. Time is int64 picoseconds (lasts 106 days), sizes are bytes,
// rates are bytes per second. Raw numbers appear only inside formulas, unit last in the name.

#include <cassert>
#include <compare>
#include <cstdint>

namespace fabricast {

/// A span of simulated time in picoseconds. May be negative as a difference.
struct Duration {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration other) {
    ps += other.ps;
    return *this;
  }
};
constexpr Duration operator+(Duration a, Duration b) { return {a.ps + b.ps}; }
constexpr Duration operator-(Duration a, Duration b) { return {a.ps - b.ps}; }
constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ps * k}; }
constexpr Duration nanoseconds(std::int64_t ns) { return {ns * 1'000}; }
constexpr Duration microseconds(std::int64_t us) { return {us * 1'000'000}; }
/// For people and files only.
constexpr double microseconds_of(Duration time) { return static_cast<double>(time.ps) / 1e6; }

/// A point of simulated time, picoseconds since the start of the run.
struct Instant {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const Instant&) const = default;
};
constexpr Instant operator+(Instant t, Duration d) { return {t.ps + d.ps}; }
constexpr Duration operator-(Instant a, Instant b) { return {a.ps - b.ps}; }
constexpr Instant later(Instant a, Instant b) { return a < b ? b : a; }

/// A number of bytes.
struct Bytes {
  std::int64_t count = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
constexpr Bytes operator*(Bytes a, std::int64_t k) { return {a.count * k}; }

/// Bytes per second, one direction.
struct Bandwidth {
  std::int64_t bytes_per_s = 0;

  constexpr auto operator<=>(const Bandwidth&) const = default;
};
constexpr Bandwidth operator*(Bandwidth a, std::int64_t k) { return {a.bytes_per_s * k}; }

/// The only place where bytes become time. Rounds up: a transfer never ends early.
/// REQUIRES: size >= 0, rate > 0.
constexpr Duration transfer_time(Bytes size, Bandwidth rate) {
  assert(size.count >= 0);
  assert(rate.bytes_per_s > 0);
  constexpr std::int64_t ps_per_s = 1'000'000'000'000;
  constexpr std::int64_t narrow_max = INT64_MAX / ps_per_s - 1;  // 9.2 MB: 64 bits are enough
  if (size.count <= narrow_max && rate.bytes_per_s < ps_per_s) {
    return {(size.count * ps_per_s + rate.bytes_per_s - 1) / rate.bytes_per_s};
  }
  __extension__ using Wide = unsigned __int128;
  const Wide byte_ps = static_cast<Wide>(size.count) * static_cast<Wide>(ps_per_s);
  const Wide per_s = static_cast<Wide>(rate.bytes_per_s);
  return {static_cast<std::int64_t>((byte_ps + per_s - 1) / per_s)};
}
static_assert(transfer_time({1 << 20}, {100'000'000'000}).ps == 10'485'760);  // 1 MiB at 100 GB/s
static_assert(transfer_time({1}, {900'000'000'000}).ps == 2);                 // 1.11 ps, rounded up
// 16 GiB at 50 GB/s
static_assert(transfer_time({1LL << 34}, {50'000'000'000}).ps == 343'597'383'680);

}  // namespace fabricast
