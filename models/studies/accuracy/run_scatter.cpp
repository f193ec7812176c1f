#include "models/studies/accuracy/run_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/studies/shared/quantile.hpp"

namespace fabricast {
namespace {

constexpr double kMedianOfNormal = 0.6745;  // of |x|, where x has a standard deviation of 1

struct Logs {
  double size = 0, time = 0;
};

/// How much of the middle one's deviation is noise depends on where it stands between the others:
/// the line there has shares of their noise.
double off_the_line(const Logs& before, const Logs& at, const Logs& after) {
  const double share = (at.size - before.size) / (after.size - before.size);
  const double line = before.time + share * (after.time - before.time);
  return std::abs(at.time - line) / std::sqrt(1 + share * share + (1 - share) * (1 - share));
}

double scatter(std::vector<Logs> points) {
  std::ranges::sort(points, {}, &Logs::size);
  std::vector<double> off;
  for (std::size_t i = 1; i + 1 < points.size(); ++i)
    if (points[i - 1].size < points[i].size && points[i].size < points[i + 1].size)
      off.push_back(off_the_line(points[i - 1], points[i], points[i + 1]));
  if (std::ssize(off) < kScatterPoints) return 0;
  return upper_median(std::move(off)) / kMedianOfNormal;
}

}  // namespace

std::vector<double> run_scatter(const Measurements& measured) {
  std::vector<std::vector<Logs>> points(measured.runs.size());
  for (const MeasuredPoint& point : measured.points)
    if (point.size.count > 0 && point.time_us > 0)
      points[point.run].push_back(
          {std::log(static_cast<double>(point.size.count)), std::log(point.time_us)});
  std::vector<double> out;
  for (std::vector<Logs>& run : points) out.push_back(scatter(std::move(run)));
  return out;
}

}  // namespace fabricast
