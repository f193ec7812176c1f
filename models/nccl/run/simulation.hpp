#pragma once
// Calls, decided, on a cluster: builds the workers of every rank and channel, their proxies and
// connections, and the blocks that send and receive, runs them, and says what happened. One call,
// a group of calls, calls one after another and streams beside each other are all run so.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/network_plan.hpp"
#include "models/nccl/base/timeline.hpp"
#include "models/nccl/call/stream.hpp"
#include "models/nccl/split/partition.hpp"
#include "sim/base/stamp.hpp"
#include "sim/links/carrier.hpp"

namespace fabricast {

struct SimulationOptions {
  NetworkPlan network;                    ///< the rung, routes, what else is under way
  bool explain = false;                   ///< follow the critical path: two to three times the time
  bool fold = false;                      ///< of ranks that are alike simulate one (symmetry.hpp)
  bool fast_forward = false;              ///< jump over what repeats itself; one plain call only
  std::uint64_t first_look = 1 << 16;     ///< event from which on to look for repetition
  std::uint64_t events_max = UINT64_MAX;  ///< of all ranks; what has more is refused
  std::function<void(double)> progress;   ///< called now and then with the share done, 0..1
  Timeline* timeline = nullptr;           ///< filled by a second, equal run, if there is one
  TimelineFilter shown;                   ///< in the timeline
};

class Symmetry;
struct JobPlan;

/// What stands against folding the run, or against folding more, with these options; "" = nothing.
/// `symmetry`: of the run.
std::string why_not_folded(const Cluster& cluster, const CollectiveRun& run,
                           const Symmetry& symmetry, const SimulationOptions& options);
/// Ranks that one simulated stands for, itself included, with these options.
int copies_simulated(const Cluster& cluster, const CollectiveRun& run, const Symmetry& symmetry,
                     const SimulationOptions& options);

/// How much one link of the cluster carried. Utilisation is of the time the run took.
struct LinkLoad {
  LinkId link{};
  Bytes carried;  ///< wire bytes
  double utilisation = 0;
  int copies = 1;  ///< links that are alike, where the run was folded; this is the first of them
};

/// What there is to say of any run as a whole.
struct RunFacts {
  std::vector<LinkLoad> links;       ///< every link that carried anything, busiest first
  std::uint64_t events = 0;          ///< of all ranks, whether simulated or not
  std::uint64_t events_skipped = 0;  ///< of these: not simulated, as they repeat others
  std::uint64_t slices = 0;          ///< handled by GPU workers, empty ones included
  int nodes_simulated = 0;           ///< the first so many; of the others each does as one of these
  int rails_folded = 1;              ///< of so many rails of a node, one is simulated
  int channels_simulated = 0;        ///< of NVLS: one of those that take the same ways; 0 = each
  bool merged = false;               ///< GPUs of a node that copy alike copied as one
  std::string why_not_folded;        ///< or not more; "" = nothing stands against it
  std::uint64_t digest = 0;
  Losses losses;  ///< where links go down; if a message is given up, times are until then
};

struct SimulationResult : RunFacts {
  Duration time;    ///< of all calls, launch included
  Duration launch;  ///< of `time`: NCCL's software start, or the wait for serialised launches
  std::array<Duration, kCauses> causes{};  ///< of `time` - `launch`, by Cause; 0 unless explained
  std::vector<Duration> rank_finish;       ///< after the launch, by rank
  Partition partition;
};

/// Ranks as of the run's members. One rank: a copy, no links.
/// REQUIRES: exists() if tuned, count > 0, root < ranks. Throws Error where the network's rung
/// cannot do what is asked (models/hardware/networks/refusals.hpp).
SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const SimulationOptions& options = {});
/// The same where the run's symmetry is known already. REQUIRES: it is what find_symmetry() says.
SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Symmetry& symmetry,
                          const SimulationOptions& options);

struct StreamResult {
  Duration time;    ///< from its start to the end of its last rank, launches included
  Duration launch;  ///< of `time`, on the way to its end: waits for launches; 0 unless explained
  std::array<Duration, kCauses> causes{};  ///< of `time` - `launch`, by Cause; 0 unless explained
  std::vector<Instant> ended;              ///< by kernel: when the last rank has
  std::vector<Instant> rank_finish;        ///< by rank: when its last kernel ends
};

struct StreamsResult : RunFacts {
  std::vector<StreamResult> streams;
  Duration time;  ///< until the last stream ends
};

/// One for each of these, of so many such calls in a row.
std::vector<Stream> streams_of(std::span<const CollectiveRun> runs, int calls = 1);

/// Exact sharing as of the chunk rung: a link serves slices in order of arrival, whoever sends
/// them. A stream of one call takes the time of that call alone (simulate() above). REQUIRES: as
/// simulate(); streams with runs.
StreamsResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                       std::span<const Stream> streams, const SimulationOptions& options = {});
/// The same where the plan is known already. REQUIRES: it is what plan_job() says.
StreamsResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                       std::span<const Stream> streams, const JobPlan& plan,
                       const SimulationOptions& options);

}  // namespace fabricast
