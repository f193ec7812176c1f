#pragma once
// All-to-alls that are too large to be simulated whole: of the rails of their nodes, which differ
// by who is first where several come at once, one is simulated. docs/scale.md says how near that
// is.

#include <optional>

#include "models/nccl/run/bounds.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// What a message and a chunk of one take of CPU time, in events of a ring: on 256 to 16,384 GPUs.
inline constexpr std::uint64_t kEventsOfMessage = 40, kEventsOfChunk = 10;
/// Whether it is so much at most at first glance. A chunk has 4 KiB, or is a message's last.
bool is_small_exchange(const CollectiveRun& run, int ranks, int copies, std::uint64_t most);
/// So many events the sends and receives of a run take that is folded as `plan` says. REQUIRES: one
/// run.
std::uint64_t events_of_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                 const Stream& stream, const JobPlan& plan);
std::uint64_t events_of_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                 const CollectiveRun& run, const Symmetry& symmetry);

/// As bound_run(), of an all-to-all. Nothing, too, where rails are unlike: other fabrics than rails
/// of two tiers or a single leaf. Of hosts that NVLink joins to racks some racks stand for all.
std::optional<BoundedRun> bound_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                         const CollectiveRun& run, const Symmetry& symmetry,
                                         std::uint64_t most, std::uint64_t dearest);

/// The same of an all-to-all on a rung that carries slices, where it would take `events`: nothing
/// where one rail takes more than `dearest`, where something is slow, and where that rung does not
/// fold rails. REQUIRES: network.carries().
std::optional<BoundedRun> bound_carried_exchange(const Cluster& cluster,
                                                 const SoftwareCosts& software,
                                                 const CollectiveRun& run, const Symmetry& symmetry,
                                                 const NetworkPlan& network, std::uint64_t events,
                                                 std::uint64_t dearest);

/// The time is between these times that of the rails that are as if alike: what they do at the same
/// time drifts apart in the run, and then messages are in each other's way. Chosen by random runs
/// on 16 to 96 ranks and by runs on 512 to 16,384 GPUs, which took 4.8 % longer at most. 32,768
/// that send 8 KiB to each other took 20 % longer: of more than so many ranks nothing is said.
/// Where the last of several leaves is not full all messages come out of step, on one rail more
/// than on eight that drift apart: 232, 300 and 1,000 nodes took 2.0, 3.6 and 5.8 % less than one
/// rail.
inline constexpr double kRailsFaster = 0.005, kRailsFasterOutOfStep = 0.07, kRailsSlower = 0.055;
inline constexpr int kRailsMostRanks = 16'384;
/// Of racks whose leaves begin elsewhere half or fewer stand for all; at least so many.
inline constexpr int kRacksLeast = 4;
struct RacksApart {
  double faster, slower;
};
/// Where the last leaf is full, and where it is not. Chosen by runs on 4 to 16 racks
/// (docs/scale.md).
inline constexpr RacksApart kRacksOnFullLeaves{0.025, 0.033}, kRacks{0.03, 0.07};
/// Where flows or packets carry slices, nobody's number decides who is first in the fabric: so much
/// on either side. Chosen by 600 random runs on 16 to 96 ranks and one of 512 GPUs on each rung.
inline constexpr double kCarriedRails = 0.028;
/// And of few ranks so much more, divided by their number.
inline constexpr double kFewRanks = 0.5;

}  // namespace fabricast
