#pragma once
// Several communicators on one cluster at the same time, the calls of each in a stream of its own:
// their kernels share links, NICs and switches. Each has its own proxy threads and thread blocks;
// that blocks of several kernels share an SM or its memory is not modelled.

#include <span>
#include <vector>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// Calls of one communicator, one kernel after another: a rank launches the next when it has ended
/// the one before.
struct Stream {
  std::vector<CollectiveRun> runs;  ///< of the same members; outages are not simulated here
  Instant start;                    ///< when the first is launched
};

struct StreamResult {
  Duration time;               ///< from its start to the end of its last rank, launches included
  std::vector<Instant> ended;  ///< by run: when the last rank has
};

struct TogetherResult {
  std::vector<StreamResult> streams;
  Duration time;                ///< until the last stream ends
  std::vector<LinkLoad> links;  ///< of that time
  std::uint64_t events = 0;
  std::uint64_t digest = 0;
};

/// Exact sharing as of the chunk rung: a link serves slices in order of arrival, whoever sends
/// them. A stream alone takes the time of its calls alone (simulate()). REQUIRES: as simulate();
/// streams with runs.
TogetherResult simulate_together(const Cluster& cluster, const SoftwareCosts& software,
                                 std::span<const Stream> streams,
                                 const std::function<void(double)>& progress = {});

}  // namespace fabricast
