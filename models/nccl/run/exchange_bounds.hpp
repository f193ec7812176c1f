#pragma once
// All-to-alls that are too large to be simulated whole: of the rails of their nodes, which differ
// by who is first where several come at once, one is simulated. docs/scale.md says how near that
// is.

#include <optional>

#include "models/nccl/run/bounds.hpp"

namespace fabricast {

/// Of an event of a ring, what a chunk of a message takes: by CPU time, on 256 to 4,096 GPUs.
inline constexpr std::uint64_t kEventsOfChunk = 16;

/// As bound_run(), of an all-to-all. Nothing, too, where rails are unlike: other fabrics than rails
/// of two tiers or a single leaf, hosts that NVLink joins.
std::optional<BoundedRun> bound_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                         const CollectiveRun& run, const Symmetry& symmetry,
                                         std::uint64_t most);

/// As order_matters(): of random runs on 16 to 96 ranks the time lay outside by so much at most.
inline double exchange_order_matters(int ranks) { return 0.01 + 1.0 / ranks; }

}  // namespace fabricast
