#include "models/nccl/run/extrapolation.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

double over(Duration time, Duration known) {
  return static_cast<double>(time.ps) / static_cast<double>(known.ps);
}

}  // namespace

TimeBounds extrapolated(const MeasuredCall& more, const MeasuredCall& less, int nodes,
                        const TimeRange& known) {
  assert(1 <= less.nodes && less.nodes < more.nodes && more.nodes < nodes);
  const auto doublings = [](int from, int to) {
    return std::log2(static_cast<double>(to) / static_cast<double>(from));
  };
  const double reach = doublings(more.nodes, nodes) / doublings(less.nodes, more.nodes);
  const auto middle = [](const MeasuredCall& call) {
    return (over(call.time.lower, call.known.lower) + over(call.time.upper, call.known.upper)) / 2;
  };
  // Bounds of the same kind move with what they bound: their width is carried on as it is.
  const double low = over(more.time.lower, more.known.lower),
               high = over(more.time.upper, more.known.upper);
  const double step = std::max(reach * (middle(more) - middle(less)), -middle(more) / 2);
  const double beyond =
      kBeyond + kFewNodes / more.nodes + kEachDoubling * doublings(more.nodes, nodes);
  TimeBounds out;
  out.lower = scaled(known.lower, (std::min(low, high) + std::min(step, 0.0)) * (1 - beyond));
  out.upper = scaled(known.upper, (std::max(low, high) + std::max(step, 0.0)) * (1 + beyond));
  return out;
}

TimeBounds narrowed(const SmallerRings& rings, int nodes, const TimeRange& twin,
                    const TimeBounds& bounds) {
  const auto& [more, less, near] = rings;
  assert(1 <= less.nodes && less.nodes < more.nodes && more.nodes < nodes);
  const double here = over(more.time, more.twin), before = over(less.time, less.twin);
  const double step = (1.0 / more.nodes - 1.0 / nodes) / (1.0 / less.nodes - 1.0 / more.nodes);
  const double there = here + (here - before) * step;
  double apart = 1;
  for (const RingWithTwin& one : near) {
    const double ratio = over(one.time, one.twin) / (one.nodes == more.nodes ? here : before);
    apart = std::max({apart, ratio, 1 / ratio});
  }
  const double beyond = kRing + kRingOfFew / more.nodes;
  const auto at = [&](Duration even, double share) {
    return std::clamp(scaled(even, share), bounds.lower, bounds.upper);
  };
  TimeBounds out = bounds;
  out.lower = at(twin.lower, std::min(here, there) / apart * (1 - beyond));
  out.upper = at(twin.upper, std::max(here, there) * apart * (1 + beyond));
  out.is_proven = false;
  return out;
}

int fewer_nodes(int nodes) {
  if (nodes < 2) return 0;
  const int power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(nodes))) / 2;
  return 5 * (nodes - power) >= 2 * nodes ? nodes - power : nodes / 2;
}

}  // namespace fabricast
