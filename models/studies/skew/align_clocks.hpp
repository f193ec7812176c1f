#pragma once
// Clocks of ranks, from collectives that they ended together. A collective in which everybody gets
// from everybody (all_reduce, all_gather, reduce_scatter, alltoall) ends nowhere before all have
// arrived, and everywhere at about the same time: what is left of the last pieces takes
// microseconds, clocks of hosts differ by milliseconds.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricast {

/// The end of one collective on one rank, by that rank's clock.
struct RankEnd {
  int rank = 0;  ///< its place in a list
  std::int64_t end_ns = 0;
};
/// Of a collective, by rank.
using CommonEnd = std::vector<RankEnd>;

/// From a rank's clock to that of the first rank, since an origin: time - origin - offset - drift x
/// (time - from).
struct RankClock {
  bool known = false;  ///< it ended something with somebody whose clock is known
  double offset_ns = 0, drift = 0;
  double residual_ns = 0;  ///< of its ends from the common ones, the median
  std::int64_t from_ns = 0;
  std::int64_t origin_ns = 0;  ///< of the common time, which a double then holds to the nanosecond

  double common_ns(std::int64_t time_ns) const {
    return static_cast<double>(time_ns - origin_ns) - offset_ns -
           drift * static_cast<double>(time_ns - from_ns);
  }
};

struct AlignedClocks {
  std::vector<RankClock> ranks;
  std::size_t ends = 0;         ///< collectives that were used
  double residual_ns = 0;       ///< of all ends: the median,
  double residual_most_ns = 0;  ///< and what nine of ten are below
};

/// `ranks` are counted from 0; the first has no offset, and drifts are against what most clocks do.
/// Medians throughout, so that a few ends that are off change little. A drift counts where it is
/// more than the residual.
AlignedClocks align_clocks(int ranks, const std::vector<CommonEnd>& ends);

}  // namespace fabricast
