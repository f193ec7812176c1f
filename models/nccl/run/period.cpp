#include "models/nccl/run/period.hpp"

#include <algorithm>
#include <vector>

#include "models/nccl/call/launch.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {
namespace {

constexpr int kFewCalls = 4, kManyCalls = 8;
/// Of the time of a call: ranks that end so near to each other leave nothing to overlap.
constexpr double kNegligible = 0.005;
/// Slices of all calls that are simulated.
constexpr std::uint64_t kSlicesMax = kFewCalls * kSlicesInARow;

Duration spread(const std::vector<Duration>& finish) {
  if (finish.empty()) return {};
  const auto [first, last] = std::ranges::minmax(finish);
  return last - first;
}

/// The last two calls took equally long.
bool is_steady(const std::vector<Instant>& ended) {
  const std::size_t n = ended.size();
  return ended[n - 1] - ended[n - 2] == ended[n - 2] - ended[n - 3];
}

/// Of the last calls.
Duration mean(const std::vector<Instant>& ended, std::size_t calls) {
  const std::size_t n = ended.size();
  return {(ended[n - 1] - ended[n - 1 - calls]).ps / static_cast<std::int64_t>(calls)};
}

}  // namespace

Duration period_of(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                   const Symmetry& symmetry, const SimulationResult& alone,
                   const SimulationOptions& options) {
  if (!run.faults.outages.empty()) return alone.time;
  const auto apart = static_cast<double>(spread(alone.rank_finish).ps);
  if (apart < kNegligible * static_cast<double>(alone.time.ps)) return alone.time;
  SimulationOptions plain = options;
  plain.explain = plain.fast_forward = false;
  plain.timeline = nullptr;
  plain.progress = {};
  const Duration launch = launch_of(run, cluster, software);
  Stream stream{{run}, {}, LaunchesAhead{{}, launch}};
  const std::span<const Stream> streams(&stream, 1);
  stream.rounds = kFewCalls;
  const JobPlan plan = plan_job(cluster, stream, symmetry);
  for (const int calls : {kFewCalls, kManyCalls}) {
    stream.rounds = calls;
    if (job_size(cluster, software, streams, plan).simulated > kSlicesMax) break;
    const StreamsResult result = simulate(cluster, software, streams, plan, plain);
    const std::vector<Instant>& ended = result.streams.front().ended;
    if (calls < kManyCalls && !is_steady(ended)) continue;
    const Duration period = mean(ended, is_steady(ended) ? 1 : kManyCalls / 2);
    return std::max(period, host_time(run, cluster, software));
  }
  return alone.time;
}

std::uint64_t slices_in_a_row(std::uint64_t slices) {
  std::uint64_t out = slices;
  for (const int calls : {kFewCalls, kManyCalls}) {
    const std::uint64_t all = slices * static_cast<std::uint64_t>(calls);
    if (all <= kSlicesMax) out += all;
  }
  return out;
}

Duration time_in_a_row(const Cluster& cluster, const SoftwareCosts& software,
                       const CollectiveRun& run) {
  return time_in_a_row(cluster, software, run, find_symmetry(cluster, run));
}

Duration time_in_a_row(const Cluster& cluster, const SoftwareCosts& software,
                       const CollectiveRun& run, const Symmetry& symmetry) {
  SimulationOptions options;
  options.fold = options.fast_forward = true;
  const SimulationResult alone = simulate(cluster, software, run, symmetry, options);
  return period_of(cluster, software, run, symmetry, alone, options);
}

}  // namespace fabricast
