#pragma once
// A run's progress as a share, for who watches it.

#include <algorithm>
#include <cstdint>
#include <functional>

namespace fabricast {

/// What an executor calls with its number of events so far; empty when nobody watches.
inline std::function<void(std::uint64_t)> progress_share(
    const std::function<void(double)>& progress, std::uint64_t expected) {
  if (!progress) return {};
  return [&progress, expected = std::max<std::uint64_t>(expected, 1)](std::uint64_t events) {
    progress(std::min(static_cast<double>(events) / static_cast<double>(expected), 1.0));
  };
}

}  // namespace fabricast
