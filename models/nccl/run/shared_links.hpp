#pragma once
// Which of several calls at the same time can slow each other: those whose bytes cross one link.

#include <cstddef>
#include <span>
#include <vector>

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

/// Calls that share links, directly or through others, by their numbers in ascending order.
using Crowd = std::vector<std::size_t>;

/// Every call is in one crowd; alone where it shares nothing. The links are those that a short run
/// of each call crosses. REQUIRES: as simulate().
std::vector<Crowd> crowds_of(const Cluster& cluster, const SoftwareCosts& software,
                             std::span<const CollectiveRun> runs);

/// The same, but of crowds that are alike (as many calls, which load as many links of the same
/// rates and latencies by the same bytes) only the first.
std::vector<Crowd> unlike_crowds_of(const Cluster& cluster, const SoftwareCosts& software,
                                    std::span<const CollectiveRun> runs);

}  // namespace fabricast
