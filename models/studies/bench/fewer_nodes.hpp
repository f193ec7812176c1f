#pragma once
// Rows that would take more than their budget and have no proven bounds: the same call on fewer
// nodes says what they take (extrapolation.hpp). On the chunk rung these are sends and receives;
// on the others all that is too large, over its time on the chunk rung.

#include <functional>
#include <optional>

#include "models/studies/bench/bench_call.hpp"

namespace fabricast {

/// A call where it runs.
struct PlacedCall {
  Cluster cluster;
  NetworkPlan network;
  CollectiveRun run;
};
/// The row's call on `whole`, of the same algorithm and protocol, with as many bytes for each peer;
/// below smaller leaves where it would be one or two instead of several. Nothing of what is only so
/// on its own nodes: faults, groups, background, algorithms of one's own. `asked`: what the cluster
/// was made of. All arguments outlive it.
CallOnFewer on_fewer_nodes(const BenchConfig& config, const SoftwareCosts& software,
                           const Topology& topology, const NodesRequest& asked,
                           const Cluster& whole, const BenchRow& row);

struct FewerSay {
  std::optional<BoundedRun> told;
  /// Where nothing is told: what the run does on the chunk rung, if that was simulated to know so.
  std::optional<SimulationResult> on_chunk;
};
/// Of a run of which no more than `most` events shall be simulated. Nothing where it takes no more,
/// or where too little is known. REQUIRES: bound_run() has none.
FewerSay extrapolated_run(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Symmetry& symmetry,
                          const NetworkPlan& network, std::uint64_t most,
                          const CallOnFewer& on_fewer);

/// Bounds of an uneven ring that are far apart are narrowed by the same ring of fewer nodes, with
/// as large chunks: by what share of its slower twin's time it takes. About `most` events are
/// simulated for that, no more. Leaves `run` as it is where nothing is known.
void narrow_by_fewer_nodes(BoundedRun& run, const Cluster& cluster, const SoftwareCosts& software,
                           const CollectiveRun& all, std::uint64_t most,
                           const CallOnFewer& on_fewer);
/// Half of their width, as a share of the middle, from which on bounds are narrowed.
inline constexpr double kWideBounds = 0.025;

/// What a packet takes that a link passes on, in events of a ring, and one of sends and receives;
/// what an event of the chunk rung takes on the flow rung, and one of sends and receives for each
/// two nodes, where so many more share a NIC. Measured: all-to-alls and rings on 16 to 64 nodes.
inline constexpr std::uint64_t kEventsOfPacket = 10, kEventsOfSentPacket = 13;
inline constexpr std::uint64_t kEventsOfFlow = 4, kEventsOfSentFlow = 5;
/// And what one of sends and receives takes on the chunk rung where slices are handed over (ways
/// that switches choose as they come; several queue pairs). Measured: all-to-alls on 64 and 128
/// nodes.
inline constexpr std::uint64_t kEventsOfChosenWay = 5;
/// The same where each connection's way is hashed, so that hardly two ranks do anything in one
/// instant: all-to-alls on 64 and 128 nodes take 1.9 and 3 times as long as with static routes,
/// neither folded.
inline constexpr std::uint64_t kEventsOfHashedWay = 2;

}  // namespace fabricast
