#include "models/io/tuners/plane.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fabricast {

namespace {

constexpr double kTolerance = 1e-10;
constexpr double kLeast = 1e-6;  // what 0 is taken for: it has no logarithm

struct Vector {
  double x = 0, y = 0;
};

Vector logs(PlanePoint at) {
  const auto log = [](double value) { return std::log2(value > 0 ? value : kLeast); };
  return {log(at.bytes), log(at.ranks)};
}
PlanePoint powers(Vector at) { return {std::exp2(at.x), std::exp2(at.y)}; }

Vector minus(Vector a, Vector b) { return {a.x - b.x, a.y - b.y}; }
double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y; }
double cross(Vector a, Vector b) { return a.x * b.y - a.y * b.x; }

struct Edge {
  Vector from, to;
};

/// Where a line from `at` in the direction `way` meets that of an edge: shares of both.
struct Meeting {
  double on_edge = 0, on_way = 0;
  bool is_there = false;  ///< not parallel
};
Meeting meeting(Vector at, Vector way, const Edge& edge) {
  const Vector along = minus(edge.to, edge.from);
  const double parallel = cross(along, way);
  if (std::abs(parallel) < kTolerance) return {};
  return {(cross(at, way) - cross(edge.from, way)) / parallel,
          (cross(at, along) - cross(edge.from, along)) / parallel, true};
}

bool is_end(double on_edge) { return on_edge < kTolerance || on_edge > 1 - kTolerance; }

/// As the plugin has it: the foot of the perpendicular may lie beyond an end by the tolerance, and
/// only points on one side of an edge, or below its ends, are near it.
bool is_on(Vector at, const Edge& edge) {
  const Vector along = minus(edge.to, edge.from);
  const Meeting foot = meeting(at, {along.y, -along.x}, edge);
  if (!foot.is_there || foot.on_edge < -kTolerance || foot.on_edge > 1 + kTolerance) return false;
  if (!is_end(foot.on_edge) && (foot.on_way < 0 || foot.on_way > 1)) return false;
  const Vector way =
      minus({edge.from.x + foot.on_edge * along.x, edge.from.y + foot.on_edge * along.y}, at);
  return std::sqrt(dot(way, way)) < kTolerance;
}

/// Whether the way from `at` to `far` crosses the edge between its ends.
bool is_crossed(Vector at, Vector far, const Edge& edge) {
  const Meeting there = meeting(at, minus(far, at), edge);
  return there.is_there && !is_end(there.on_edge) && there.on_way >= 0 && there.on_way <= 1;
}

}  // namespace

PlanePoint beyond(PlanePoint a, PlanePoint b, PlanePoint end) {
  const Vector from = logs(a), to = logs(b), last = logs(end);
  if (from.x == to.x) return powers({from.x, last.y});
  if (from.y == to.y) return powers({last.x, from.y});
  const double slope = (from.y - to.y) / (from.x - to.x);
  const double offset = to.y - slope * to.x;
  const double ranks = slope * last.x + offset;
  if (ranks < last.y) return powers({last.x, ranks});
  return powers({(last.y - offset) / slope, last.y});
}

bool covers(std::span<const PlanePoint> corners, PlanePoint at, PlanePoint end) {
  const Vector point = logs(at);
  // The plugin leaves the region towards twice the end of the plane.
  const Vector far = logs({2 * end.bytes, 2 * end.ranks});
  Vector least = logs(corners.front()), most = least;
  bool inside = false;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Edge edge{logs(corners[i]), logs(corners[(i + 1) % corners.size()])};
    if (is_on(point, edge)) return true;
    if (is_crossed(point, far, edge)) inside = !inside;
    least = {std::min(least.x, edge.from.x), std::min(least.y, edge.from.y)};
    most = {std::max(most.x, edge.from.x), std::max(most.y, edge.from.y)};
  }
  const bool boxed =
      point.x >= least.x && point.x <= most.x && point.y >= least.y && point.y <= most.y;
  return inside && boxed;
}

}  // namespace fabricast
