#pragma once
// The time of a call that is too large to be simulated, and has no bounds, from two calls like it
// on fewer nodes. docs/scale.md says how far that is off.

#include "models/nccl/run/bounds.hpp"

namespace fabricast {

/// Between these two; the same where it is known.
struct TimeRange {
  Duration lower, upper;
};

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

/// A call with bounds that was simulated whole, too.
struct BoundedCall {
  int nodes = 1;
  Duration time;
  TimeBounds bounds;
};

/// Bounds inside of those on `nodes`: there the time lies at the same place between its bounds as
/// on `more` nodes, or at one that has moved on from `less` nodes as 1 / nodes does. They hold
/// both, and on either side kPlace of the width and kPlaceOfFew of it divided by `more` nodes.
/// REQUIRES: less.nodes < more.nodes < nodes; of both the bounds hold the time.
TimeBounds narrowed(const BoundedCall& more, const BoundedCall& less, int nodes,
                    const TimeBounds& bounds);

/// Chosen by random uneven rings on 128 ranks, told by 32 and 16: of 30 the farthest lay 0.19 of
/// the width outside without either (tests/unit/studies/bench/test_fewer_nodes.cpp).
inline constexpr double kPlace = 0.05, kPlaceOfFew = 8;

/// The next smaller number of nodes to look at: as far below a power of two, as the rounds of sends
/// and receives are ordered by that (p2p_rounds.hpp), else half.
int fewer_nodes(int nodes);

}  // namespace fabricast
