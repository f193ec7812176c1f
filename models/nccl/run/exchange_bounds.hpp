#pragma once
// All-to-alls that are too large to be simulated whole: of the rails of their nodes, which differ
// by who is first where several come at once, one is simulated. docs/scale.md says how near that
// is.

#include <optional>

#include "models/nccl/run/bounds.hpp"

namespace fabricast {

/// What a message and a chunk of one take of CPU time, in events of a ring: on 256 to 16,384 GPUs.
inline constexpr std::uint64_t kEventsOfMessage = 40, kEventsOfChunk = 10;

/// As bound_run(), of an all-to-all. Nothing, too, where rails are unlike: other fabrics than rails
/// of two tiers or a single leaf, hosts that NVLink joins.
std::optional<BoundedRun> bound_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                         const CollectiveRun& run, const Symmetry& symmetry,
                                         std::uint64_t most);

/// The time is between these times that of the rails that are as if alike: what they do at the same
/// time drifts apart in the run, and then messages are in each other's way. Chosen by random runs
/// on 16 to 96 ranks and by runs on 512 to 16,384 GPUs, which took 3.3 % longer at most.
inline constexpr double kRailsFaster = 0.015, kRailsSlower = 0.045;
/// And of few ranks so much more, divided by their number.
inline constexpr double kFewRanks = 0.5;

}  // namespace fabricast
