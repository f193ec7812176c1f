#pragma once
// One collective, decided, on a cluster: builds the workers of every rank and channel, their
// proxies and connections, runs them, and says what happened.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/network_plan.hpp"
#include "models/nccl/base/timeline.hpp"
#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/split/partition.hpp"
#include "sim/base/stamp.hpp"
#include "sim/links/carrier.hpp"

namespace fabricast {

struct SimulationOptions {
  NetworkPlan network;                    ///< the rung, routes, what else is under way
  bool explain = false;                   ///< follow the critical path: two to three times the time
  bool fold = false;                      ///< of ranks that are alike simulate one (fold.hpp)
  bool fast_forward = false;              ///< jump over what repeats itself; not while explaining
  std::uint64_t first_look = 1 << 16;     ///< event from which on to look for repetition
  std::uint64_t events_max = UINT64_MAX;  ///< of all ranks; a collective of more is refused
  std::function<void(double)> progress;   ///< called now and then with the share done, 0..1
  Timeline* timeline = nullptr;           ///< filled by a second, equal run, if there is one
  TimelineFilter shown;                   ///< in the timeline
};

struct Fold;

/// Why every rank is simulated, whatever ranks are alike; "" = it need not be so.
std::string_view forbids_folding(const SimulationOptions& options);
/// That, or what stands against it; "" = nothing.
std::string why_not_folded(const Fold& fold, const SimulationOptions& options);

/// How much one link of the cluster carried. Utilisation is of the time the collective ran.
struct LinkLoad {
  LinkId link{};
  Bytes carried;  ///< wire bytes
  double utilisation = 0;
  int copies = 1;  ///< links that are alike, where the run was folded; this is the first of them
};

struct SimulationResult {
  Duration time;    ///< of all calls, launch included
  Duration launch;  ///< of `time`: NCCL's software start, or the wait for serialised launches
  std::array<Duration, kCauses> causes{};  ///< of `time` - `launch`, by Cause; 0 unless explained
  std::vector<Duration> rank_finish;       ///< after the launch, by rank
  std::vector<LinkLoad> links;             ///< every link that carried anything, busiest first
  Partition partition;
  std::uint64_t events = 0;          ///< of all ranks, whether simulated or not
  std::uint64_t events_skipped = 0;  ///< of these: not simulated, as they repeat others
  std::uint64_t slices = 0;          ///< handled by GPU workers, empty ones included
  int nodes_simulated = 0;           ///< the first so many; of the others each does as one of these
  int rails_folded = 1;              ///< of so many rails of a node, one is simulated
  int channels_simulated = 0;        ///< of NVLS: one of those that take the same ways; 0 = each
  bool merged = false;               ///< GPUs of a node that copy alike copied as one
  std::string why_not_folded;        ///< or not more; "" = nothing stands against it
  std::uint64_t digest = 0;
  Losses losses;  ///< where links go down; if a message is given up, `time` is until then
};

/// Counts in what a network of another rung did.
void add_carrier(SimulationResult& result, const Carrier& carrier);

/// Ranks as of the run's members. One rank: a copy, no links.
/// REQUIRES: exists() if tuned, count > 0, root < ranks. Throws Error where the network's rung
/// cannot do what is asked: no SHARP, no links that go down, no timeline where slices leave the
/// executor.
SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const SimulationOptions& options = {});
/// The same where the run's symmetry is known already. REQUIRES: it is what find_fold() says.
SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Fold& fold,
                          const SimulationOptions& options);

}  // namespace fabricast
