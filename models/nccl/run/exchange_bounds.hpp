#pragma once
// All-to-alls that are too large to be simulated whole: with something slow on one rail of a node,
// and over racks that NVLink joins. docs/scale.md says how far off bounds are.

#include <optional>

#include "models/nccl/run/bounds.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// What a message and a chunk of one take of CPU time, in 0.1 us: on 232 nodes of DGX H100 messages
/// of 1, 3 and 8 chunks take 9, 21 and 53, on 1,000 nodes of 3 chunks 27, as they wait for memory.
inline constexpr std::uint64_t kEventsOfMessage = 2, kEventsOfChunk = 7;
/// And so many per cent of that between racks that NVLink joins: 1 GiB on 288 hosts of GB200, 2.1e7
/// chunks, 20 s.
inline constexpr std::uint64_t kPercentOfRacks = 140;
/// Whether it is so much at most at first glance. A chunk has 4 KiB, or is a message's last.
bool is_small_exchange(const CollectiveRun& run, int ranks, int copies, std::uint64_t most);
/// So many events the sends and receives of a run take that is folded as `plan` says. REQUIRES: one
/// run.
std::uint64_t events_of_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                 const Stream& stream, const JobPlan& plan);
std::uint64_t events_of_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                 const CollectiveRun& run, const Symmetry& symmetry);

/// As bound_run(), of an all-to-all where something is slow and that folds without it. Of hosts
/// that NVLink joins to racks some racks stand for all.
std::optional<BoundedRun> bound_exchange(const Cluster& cluster, const SoftwareCosts& software,
                                         const CollectiveRun& run, const Symmetry& symmetry,
                                         std::uint64_t most, std::uint64_t dearest);

/// With a slow NIC, link or GPU the time lies between those of the call without it, and with as
/// much on all rails of its node; messages that come in another order may move it by so much. Of
/// 2,000 random runs on 16 to 96 ranks none took less, and two took over 0.7 % more (2.4 and 2.9
/// %).
inline constexpr double kFaultsFaster = 0.005, kFaultsSlower = 0.03;
/// Of racks whose leaves begin elsewhere half or fewer stand for all; at least so many.
inline constexpr int kRacksLeast = 4;
struct RacksApart {
  double faster, slower;
};
/// Where the last leaf is full, and where it is not. Chosen by runs on 4 to 16 racks
/// (docs/scale.md).
inline constexpr RacksApart kRacksOnFullLeaves{0.025, 0.033}, kRacks{0.03, 0.07};

}  // namespace fabricast
