#pragma once
// Medians and the like.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace fabricast {

/// The value that so much of them, 0..1, is below; between two of them on the line that joins them,
/// as numpy and pandas do. 0 of none.
inline double quantile(std::vector<double> of, double share) {
  if (of.empty()) return 0;
  std::ranges::sort(of);
  const double at = share * static_cast<double>(of.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double rest = at - static_cast<double>(below);
  return rest == 0 || below + 1 == of.size() ? of[below]
                                             : of[below] + rest * (of[below + 1] - of[below]);
}

/// The middle one, of an even number the mean of the two in the middle.
inline double median(std::vector<double> of) { return quantile(std::move(of), 0.5); }

/// The middle one, of an even number the larger of the two in the middle. 0 of none.
inline double upper_median(std::vector<double> of) {
  if (of.empty()) return 0;
  const auto middle = of.begin() + std::ssize(of) / 2;
  std::ranges::nth_element(of, middle);
  return *middle;
}

}  // namespace fabricast
