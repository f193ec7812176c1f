#include "models/io/bands/by_source.hpp"

#include <algorithm>
#include <utility>

namespace fabricast {

std::size_t BySource::values() const {
  std::size_t out = 0;
  for (const auto& [source, values] : by_source_) out += values.size();
  return out;
}

double BySource::quantile(double share) const {
  std::vector<std::pair<double, double>> values;
  for (const auto& [source, own] : by_source_) {
    for (const double value : own) values.emplace_back(value, 1 / static_cast<double>(own.size()));
  }
  std::ranges::sort(values);
  // Each value stands in the middle of its weight; between two of them linearly.
  const double wanted = share * static_cast<double>(by_source_.size());
  double sum = 0, at_before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = sum + values[i].second / 2;
    if (at >= wanted) {
      if (i == 0) return values[i].first;
      const double part = (wanted - at_before) / (at - at_before);
      return values[i - 1].first + part * (values[i].first - values[i - 1].first);
    }
    sum += values[i].second;
    at_before = at;
  }
  return values.back().first;
}

}  // namespace fabricast
