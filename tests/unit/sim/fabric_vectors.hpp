#pragma once
// Checks of the fabric vectors T-..: each computed value is compared with the expected one and,
// when FABRICAST_VECTORS names a file, written there as a row of the table in docs/fabrics.md.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "sim/base/units.hpp"

namespace fabricast {

constexpr Bandwidth gigabits(std::int64_t gb) { return {gb * 125'000'000}; }
constexpr Bandwidth gigabytes(std::int64_t gb) { return {gb * 1'000'000'000}; }
constexpr Bytes mebibytes(std::int64_t mib) { return {mib << 20}; }
constexpr double seconds(Duration time) { return static_cast<double>(time.ps) * 1e-12; }
constexpr double seconds(Instant at) { return static_cast<double>(at.ps) * 1e-12; }
constexpr double in_us(Duration time) { return static_cast<double>(time.ps) * 1e-6; }
constexpr double in_us(Instant at) { return static_cast<double>(at.ps) * 1e-6; }
constexpr double in_gigabytes(Bandwidth rate) {
  return static_cast<double>(rate.bytes_per_s) * 1e-9;
}
constexpr double in_gigabits(Bandwidth rate) { return 8 * in_gigabytes(rate); }

/// `tolerance` is relative; for an expected 0 absolute.
inline void check_vector(const char* id, const std::string& what, const char* rung, double computed,
                         double expected, double tolerance) {
  if (const char* file = std::getenv("FABRICAST_VECTORS")) {
    std::ofstream(file, std::ios::app)
        << fmt::format("| {} | {} | {} | {:.6g} | {:.6g} | {:.2g} |\n", id, what, rung, computed,
                       expected, tolerance);
  }
  INFO(id, ": ", what, " (", rung, "): ", computed, " expected ", expected);
  const double allowed = expected == 0 ? tolerance : tolerance * std::fabs(expected);
  CHECK(std::fabs(computed - expected) <= allowed);
}

}  // namespace fabricast
