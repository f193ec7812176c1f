#pragma once
// One call of a bench, step by step: what NCCL decides about it (or the algorithm that runs
// instead), whether it can be simulated, and what it takes.

#include <functional>
#include <optional>

#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// The row of a call that is decided and not yet simulated; nothing where the size rounds down to
/// no element. `known`: the cluster as NCCL sees it. A custom algorithm that may run in any
/// protocol takes the fastest on it. Throws Error.
std::optional<BenchRow> decided_row(const BenchConfig& config, const Cluster& known,
                                    const SoftwareCosts& software, const Communicator& communicator,
                                    Collective collective, Bytes size);

SimulationOptions options_of(const BenchConfig& config, const NetworkPlan& network);

/// Throws Error where the run is too large, and says with it what stands in the way of less.
void check_size(const Cluster& cluster, const Symmetry& symmetry, const SimulationOptions& options,
                const BenchRow& row);

/// Throws Error where another rung than chunk would take too long, by what the same run does on
/// chunk: `run` makes it with the options it is given. `copies`: ranks that one stands for.
template <class Run>
void check_rung(const NetworkPlan& network, const Cluster& cluster, int copies, const Run& run) {
  if (network.rung == Rung::chunk) return;
  SimulationOptions on_chunk;
  on_chunk.fold = on_chunk.fast_forward = true;
  on_chunk.events_max = kSlicesMax * static_cast<std::uint64_t>(copies);
  check_size(network.rung, cluster, run(on_chunk), copies);
}

/// Simulated by one core: what a budget is counted in, so that it does not depend on the machine.
/// docs/scale.md, "What it costs": 10 to 40 million, fewer where many ranks do not fit its caches.
inline constexpr std::uint64_t kEventsPerCpuSecond = 10'000'000;
constexpr std::uint64_t events_within(Duration budget) {
  return static_cast<std::uint64_t>(static_cast<double>(budget.ps) / 1e12 *
                                    static_cast<double>(kEventsPerCpuSecond));
}

/// What a run takes alone and, where it is asked for, in a row of such runs.
struct RunTimes {
  SimulationResult alone;
  std::optional<Duration> in_a_row;
  std::optional<TimeBounds> bounds = {};  ///< above BenchConfig::budget, where any are known

  Duration group_time() const { return in_a_row.value_or(alone.time); }
};
struct PlacedCall;
/// The call on fewer nodes, with so many per cent of its bytes (fewer_nodes.hpp); empty: nobody
/// knows it.
using CallOnFewer = std::function<std::optional<PlacedCall>(int nodes, int percent)>;
/// Above the budget bounds, or what `on_fewer` says. Throws Error where another rung than chunk
/// would take too long.
RunTimes times_of(const BenchConfig& config, const Cluster& cluster, const SoftwareCosts& software,
                  const CollectiveRun& run, const Symmetry& symmetry,
                  const SimulationOptions& options, const CallOnFewer& on_fewer = {});

/// The times of a row that is_peer_kernel().
RunTimes kernel_times(const BenchConfig& config, const Cluster& cluster,
                      const SoftwareCosts& software, const BenchRow& row);
/// Throws Error where the rest of the question is not simulated with an engine, or with registered
/// buffers.
void check_kernels(const BenchConfig& config);

}  // namespace fabricast
