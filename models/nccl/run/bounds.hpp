#pragma once
// The time of a ring that is too large to be simulated whole lies between those of two calls like
// it that fold: twins. docs/scale.md proves it and says how wide that is.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

struct TimeBounds {
  Duration lower, upper;
  std::uint64_t events = 0;  ///< that the whole run would have simulated; 0 = nobody knows
  bool is_proven = true;     ///< or seen in many runs; else carried on from smaller ones
  std::string how;           ///< what was simulated in its place

  /// Half of what lies between, as a share of the middle.
  double half_width() const;
  Duration middle() const { return {lower.ps / 2 + upper.ps / 2}; }
};

/// Between these two; the same where it is known.
struct TimeRange {
  Duration lower, upper;
};

struct BoundedRun {
  /// Of the slower twin; the time is the middle of the bounds. Says nothing of links, nor when
  /// ranks end.
  SimulationResult result;
  TimeBounds bounds;
  TimeRange even_chunks = {};  ///< of a ring, what it takes with all chunks as large as its largest
};

/// Nothing where no more than `most` events of the run are simulated (of 0.1 us: those of machines
/// that caches do not hold are counted twice), or where no twins are known: then it has to be
/// simulated whole. Twins are for Ring's all_reduce, all_gather and
/// reduce_scatter on all nodes of a cluster, with ways that switches do not choose by lot; and of
/// all-to-alls there are some (exchange_bounds.hpp). Ways that follow from hashes are looked at:
/// where no two NICs share a link between switches, they are as good as those by destination.
/// Nothing, too, where the twin of an all-to-all takes more events than `dearest`.
/// REQUIRES: as simulate(), with what find_symmetry() says.
std::optional<BoundedRun> bound_run(
    const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
    const Symmetry& symmetry, std::uint64_t most, const NetworkPlan& network = {},
    std::uint64_t dearest = std::numeric_limits<std::uint64_t>::max());

/// Bounds are farther apart by this share of a time, on either side: where channels share a NIC,
/// slices of other sizes may come in another order, and what is proved is so of one order. A ring
/// evens that out, the longer it is the more. Chosen by about 2,000 random runs on 24 to 104 ranks:
/// there the time lay outside of the twins' by 1.9 % at most, on 52 ranks.
inline double order_matters(int ranks) { return 0.005 + 1.0 / ranks; }

}  // namespace fabricast
