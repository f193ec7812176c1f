#pragma once
// Quantiles of numbers from sources that count as much as each other.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fabricast {

/// The middle 80 %.
inline constexpr double kBandLow = 0.1, kBandHigh = 0.9;

/// Each source counts as much as any other, since the next prediction is about yet another one: its
/// weight is shared among its numbers.
class BySource {
 public:
  void add(const std::string& source, double value) { by_source_[source].push_back(value); }
  std::size_t sources() const { return by_source_.size(); }
  std::size_t values() const;
  /// REQUIRES: a number.
  double quantile(double share) const;

 private:
  std::map<std::string, std::vector<double>> by_source_;
};

}  // namespace fabricast
