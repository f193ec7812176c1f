#include "models/nccl/run/period.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "models/nccl/call/launch.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/planned.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {
namespace {

constexpr int kFewCalls = 4, kManyCalls = 8;
/// Of the time of a call: ranks that end so near to each other leave nothing to overlap.
constexpr double kNegligible = 0.005;
/// Slices of all calls that are simulated.
constexpr std::uint64_t kSlicesMax = kFewCalls * kSlicesInARow;
/// The same of a smaller call that stands for a larger one, and no more than half of that one.
constexpr std::uint64_t kSlicesOfSmaller = 4 * kSlicesMax;

/// What the busiest link needs for the bytes of one call: no call comes sooner after another.
Duration busiest(const Cluster& cluster, const RunFacts& alone) {
  if (alone.links.empty()) return {};
  const LinkLoad& link = alone.links.front();
  return transfer_time(link.carried, cluster.link(link.link).rate);
}

/// Ranks do not end so near to each other that nothing is left to overlap.
template <class Times>
bool is_apart(const Times& finish, Duration time) {
  if (finish.empty()) return false;
  const auto [first, last] = std::ranges::minmax(finish);
  return static_cast<double>((last - first).ps) >= kNegligible * static_cast<double>(time.ps);
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

/// Calls in a row, launches ahead of the GPU.
std::vector<Stream> queued(const Cluster& cluster, const SoftwareCosts& software,
                           std::span<const CollectiveRun> runs) {
  std::vector<Stream> out;
  for (const CollectiveRun& run : runs)
    out.push_back({{run}, {}, LaunchesAhead{{}, launch_of(run, cluster, software)}, kFewCalls});
  return out;
}

/// Slices of one call of each stream.
std::uint64_t slices_once(const Cluster& cluster, const SoftwareCosts& software,
                          std::vector<Stream>& streams, const JobPlan& plan,
                          const JobDraft* draft) {
  for (Stream& stream : streams) stream.rounds = 1;
  return job_size(cluster, software, streams, plan, draft).simulated;
}

/// Of each stream, the CPU aside; nothing where four calls in a row are more than `most` slices,
/// of which one call of each stream has `once`. `draft`: of the plan, if there is one.
std::optional<std::vector<Duration>> periods_in_a_row(const Cluster& cluster,
                                                      const SoftwareCosts& software,
                                                      std::vector<Stream>& streams,
                                                      const JobPlan& plan, const JobDraft* draft,
                                                      std::uint64_t once, std::uint64_t most,
                                                      const SimulationOptions& options) {
  if (once * kFewCalls > most) return std::nullopt;
  std::optional<JobDraft> own;
  if (draft == nullptr) draft = &own.emplace(cluster, software, plan, !options.fold);
  std::vector<Duration> out;
  for (const int calls : {kFewCalls, kManyCalls}) {
    if (once * static_cast<std::uint64_t>(calls) > most) break;
    for (Stream& stream : streams) stream.rounds = calls;
    const StreamsResult result = simulate_planned(cluster, software, streams, plan, options, draft);
    out.clear();
    bool all_steady = true;
    for (const StreamResult& stream : result.streams) {
      const bool steady = is_steady(stream.ended);
      all_steady = all_steady && steady;
      out.push_back(mean(stream.ended, steady ? 1 : static_cast<std::size_t>(calls / 2)));
    }
    if (all_steady) break;
  }
  return out;
}

/// Elements that ranks hand on at a time, where all channels have several such chunks; else 0.
std::int64_t handed_on(const CollectiveRun& run) {
  constexpr std::int64_t kSeveral = 2;
  if (!run.has_algorithm() || run.custom != nullptr || run.count == 0) return 0;
  std::int64_t out = 0;
  for (const ChannelPart& part : partition_of(run, run.members).parts) {
    if (part.count_elements < kSeveral * part.chunk_elements) return 0;
    out = std::max(out, part.chunk_elements);
  }
  return out;
}

/// How much less than alone smaller calls take in a row, of half as many elements or a quarter and
/// so on, in as large chunks. Ranks hand on chunks: what the next call hides is the way of the
/// first ones along the ranks, whatever follows them. 0 where there are none of so few slices.
std::vector<Duration> hidden_of_smaller(const Cluster& cluster, const SoftwareCosts& software,
                                        std::span<const CollectiveRun> runs, std::uint64_t most,
                                        const SimulationOptions& options) {
  std::vector<Duration> out(runs.size());
  std::vector<CollectiveRun> smaller(runs.begin(), runs.end());
  std::vector<std::int64_t> chunks;
  for (const CollectiveRun& run : runs) chunks.push_back(handed_on(run));
  for (;;) {
    for (std::size_t i = 0; i < smaller.size(); ++i) {
      smaller[i].count /= 2;
      if (chunks[i] == 0 || handed_on(smaller[i]) != chunks[i]) return out;
    }
    std::vector<Stream> streams = queued(cluster, software, smaller);
    const JobPlan plan = plan_job(cluster, streams);
    const std::uint64_t once = slices_once(cluster, software, streams, plan, nullptr);
    const auto periods =
        periods_in_a_row(cluster, software, streams, plan, nullptr, once, most, options);
    if (!periods) continue;
    const StreamsResult alone = simulate(cluster, software, streams_of(smaller), options);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::max(alone.streams[i].time - (*periods)[i], Duration{});
    return out;
  }
}

SimulationOptions plain(SimulationOptions options) {
  options.explain = options.fast_forward = false;
  options.timeline = nullptr;
  options.progress = {};
  return options;
}

/// `alone`: by stream. `draft`: of the plan, if there is one.
std::vector<Duration> periods(const Cluster& cluster, const SoftwareCosts& software,
                              std::span<const CollectiveRun> runs,
                              const std::vector<Duration>& alone, std::vector<Stream>& streams,
                              const JobPlan& plan, const JobDraft* draft,
                              const SimulationOptions& options) {
  std::vector<Duration> out = alone;
  const std::uint64_t once = slices_once(cluster, software, streams, plan, draft);
  if (const auto in_a_row =
          periods_in_a_row(cluster, software, streams, plan, draft, once, kSlicesMax, options)) {
    out = *in_a_row;
  } else {
    const std::uint64_t most = std::clamp(once / 2, kSlicesMax, kSlicesOfSmaller);
    const std::vector<Duration> hidden = hidden_of_smaller(cluster, software, runs, most, options);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] - hidden[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::max(out[i], host_time(runs[i], cluster, software));
  return out;
}

/// As the one without a draft. `draft`: of calls in a row, if there is one.
Duration period_of(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                   const Symmetry& symmetry, const SimulationResult& alone, const JobDraft* draft,
                   const SimulationOptions& options) {
  if (!run.faults.outages.empty() || !is_apart(alone.rank_finish, alone.time)) return alone.time;
  const std::span<const CollectiveRun> runs(&run, 1);
  std::vector<Stream> streams = queued(cluster, software, runs);
  const JobPlan plan = plan_job(cluster, streams.front(), symmetry);
  const Duration in_a_row =
      periods(cluster, software, runs, {alone.time}, streams, plan, draft, plain(options)).front();
  return std::max(in_a_row, std::min(busiest(cluster, alone), alone.time));
}

}  // namespace

Duration period_of(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                   const Symmetry& symmetry, const SimulationResult& alone,
                   const SimulationOptions& options) {
  return period_of(cluster, software, run, symmetry, alone, nullptr, options);
}

std::vector<Duration> periods_of(const Cluster& cluster, const SoftwareCosts& software,
                                 std::span<const CollectiveRun> groups, const StreamsResult& alone,
                                 const SimulationOptions& options) {
  std::vector<Duration> times;
  bool any_apart = false, any_outages = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const StreamResult& group = alone.streams[i];
    times.push_back(group.time);
    any_apart = any_apart || is_apart(group.rank_finish, group.time);
    any_outages = any_outages || !groups[i].faults.outages.empty();
  }
  if (!any_apart || any_outages) return times;
  std::vector<Stream> streams = queued(cluster, software, groups);
  const JobPlan plan = plan_job(cluster, streams);
  return periods(cluster, software, groups, times, streams, plan, nullptr, plain(options));
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
  const Stream once{{run}, {}};
  const JobPlan plan = plan_job(cluster, once, symmetry);
  const JobDraft draft(cluster, software, plan, false);
  const SimulationResult alone = simulate_planned(cluster, software, once, plan, options, &draft);
  // Calls in a row have the same unless GPUs of a node are merged, which need not start alike.
  return period_of(cluster, software, run, symmetry, alone, symmetry.merges_gpus ? nullptr : &draft,
                   options);
}

}  // namespace fabricast
