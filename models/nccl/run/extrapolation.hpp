#pragma once
// The time of a call that is too large to be simulated, and has no bounds, from two calls like it
// on fewer nodes. docs/scale.md says how far that is off.

#include <vector>

#include "models/nccl/run/bounds.hpp"

namespace fabricast {

/// What a call takes on some nodes, and what its time is compared with: that of the same call on a
/// cheaper rung, or one that grows with the nodes.
struct MeasuredCall {
  int nodes = 1;
  TimeRange time, known;
};

/// The time on `nodes`, of which `known` is known. What a call takes over what is known is carried
/// on from `less` to `more` nodes and from there: it stays, or grows by as much with each doubling;
/// the bounds are around both. REQUIRES: less.nodes < more.nodes < nodes; times above 0.
TimeBounds extrapolated(const MeasuredCall& more, const MeasuredCall& less, int nodes,
                        const TimeRange& known);

/// The bounds are farther apart by this share, on either side, and by the second one divided by
/// the larger number of nodes. Chosen by 400 random runs on 16 to 32 nodes of each rung, from as
/// few as 4 and 8: there the time lay outside by 2.8 % at most without the second. And by the third
/// for each doubling of the nodes from the larger number on: Tree on the packet rung, 64 MiB on 256
/// nodes, takes 1.5 % more than 16 and 32 say at most.
inline constexpr double kBeyond = 0.02, kFewNodes = 0.4, kEachDoubling = 0.03;

/// An uneven ring that was simulated whole, and its slower twin.
struct RingWithTwin {
  int nodes = 1;
  Duration time, twin;
};

struct SmallerRings {
  RingWithTwin more, less;
  /// On as many nodes as one of both, with a few per cent more or fewer bytes. Which of the
  /// channels that share a NIC comes first may hang on that, and the time on it.
  std::vector<RingWithTwin> near;
};

/// Bounds inside of `bounds` on `nodes`, where the twin takes `twin`. There the ring takes the same
/// share of its twin's time as on `more` nodes, or one that has moved on from `less` nodes as
/// 1 / nodes does. They hold both, and on either side the most by which the share of a ring `near`
/// differs from that of the one on as many nodes, kRing, and kRingOfFew divided by `more` nodes.
/// REQUIRES: less.nodes < more.nodes < nodes; times above 0.
TimeBounds narrowed(const SmallerRings& rings, int nodes, const TimeRange& twin,
                    const TimeBounds& bounds);

/// Chosen by 400 random uneven rings on 256 ranks: all lay inside, by 0.9 % of the time at least;
/// without `near` three lay outside, by up to 3.6 %
/// (tests/unit/studies/bench/test_fewer_nodes.cpp).
inline constexpr double kRing = 0.005, kRingOfFew = 0.3;

/// The next smaller number of nodes to look at: as far below a power of two, as the rounds of sends
/// and receives are ordered by that (p2p_rounds.hpp), else half.
int fewer_nodes(int nodes);

}  // namespace fabricast
