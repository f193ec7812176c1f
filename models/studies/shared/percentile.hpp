#pragma once
// The value that so much of some values, 0..1, is at most: the one of them that is nearest in rank,
// of none 0.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fabricast {

inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  return values[place];
}

}  // namespace fabricast
