#pragma once
// Times by a factor that is no whole number.

#include <cmath>

#include "sim/base/units.hpp"

namespace fabricast {

/// To the nearest picosecond.
inline Duration scaled(Duration time, double factor) {
  return {std::llround(static_cast<double>(time.ps) * factor)};
}

}  // namespace fabricast
