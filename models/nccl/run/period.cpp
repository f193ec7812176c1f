#include "models/nccl/run/period.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/nccl/call/launch.hpp"
#include "models/nccl/call/same_run.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/planned.hpp"
#include "models/nccl/symmetry/network_folds.hpp"

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

/// Calls in a row, and what is there for them already.
struct Row {
  std::vector<Stream>& streams;  ///< of one run each; for as many rounds as are asked for
  const JobPlan& plan;
  Prepared prepared = {};
};

/// Drafts are made of what the machine runs. On other rungs there is none.
JobPlan laid_plan(const Cluster& cluster, const NetworkPlan& network,
                  std::span<const Stream> streams, JobPlan plan) {
  return network.carries() ? plan : standing_plan(cluster, network, streams, std::move(plan));
}

/// Slices of one call of each stream.
std::uint64_t slices_once(const Cluster& cluster, const SoftwareCosts& software, const Row& row) {
  for (Stream& stream : row.streams) stream.rounds = 1;
  return job_size(cluster, software, row.streams, row.plan, row.prepared.draft).simulated;
}

/// Of each stream, the CPU aside; nothing where four calls in a row are more than `most` slices,
/// of which one call of each stream has `once`.
std::optional<std::vector<Duration>> periods_in_a_row(const Cluster& cluster,
                                                      const SoftwareCosts& software, Row row,
                                                      std::uint64_t once, std::uint64_t most,
                                                      const SimulationOptions& options) {
  if (once * kFewCalls > most) return std::nullopt;
  std::optional<JobDraft> own;
  if (row.prepared.draft == nullptr)
    row.prepared.draft =
        &own.emplace(cluster, software, row.plan, !options.fold, options.network.hashes());
  std::vector<Duration> out;
  for (const int calls : {kFewCalls, kManyCalls}) {
    if (once * static_cast<std::uint64_t>(calls) > most) break;
    for (Stream& stream : row.streams) stream.rounds = calls;
    const StreamsResult result =
        simulate_planned(cluster, software, row.streams, row.plan, options, row.prepared);
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
    const JobPlan plan = laid_plan(cluster, options.network, streams, plan_job(cluster, streams));
    const Row row{streams, plan};
    const std::uint64_t once = slices_once(cluster, software, row);
    const auto periods = periods_in_a_row(cluster, software, row, once, most, options);
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

/// `alone`: by stream.
std::vector<Duration> periods(const Cluster& cluster, const SoftwareCosts& software,
                              std::span<const CollectiveRun> runs,
                              const std::vector<Duration>& alone, const Row& row,
                              const SimulationOptions& options) {
  std::vector<Duration> out = alone;
  const std::uint64_t once = slices_once(cluster, software, row);
  if (const auto in_a_row = periods_in_a_row(cluster, software, row, once, kSlicesMax, options)) {
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

/// The same channels have parts, whatever their sizes.
bool has_channels_of(const Partition& a, const Partition& b) {
  return a.element_bytes == b.element_bytes && a.shape == b.shape && a.is_strided == b.is_strided &&
         std::ranges::equal(a.parts, b.parts, {}, &ChannelPart::channel, &ChannelPart::channel);
}

/// Whether calls in a row may take another time than one alone.
bool overlaps(const CollectiveRun& run, const SimulationResult& alone) {
  return run.faults.outages.empty() && is_apart(alone.rank_finish, alone.time);
}

/// REQUIRES: overlaps(). `row`: of the run.
Duration period_of(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                   const SimulationResult& alone, const Row& row,
                   const SimulationOptions& options) {
  const Duration in_a_row =
      periods(cluster, software, {&run, 1}, {alone.time}, row, plain(options)).front();
  return std::max(in_a_row, std::min(busiest(cluster, alone), alone.time));
}

}  // namespace

Duration period_of(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                   const Symmetry& symmetry, const SimulationResult& alone,
                   const SimulationOptions& options) {
  if (!overlaps(run, alone)) return alone.time;
  std::vector<Stream> streams = queued(cluster, software, {&run, 1});
  const JobPlan plan =
      laid_plan(cluster, options.network, streams, plan_job(cluster, streams.front(), symmetry));
  return period_of(cluster, software, run, alone, {streams, plan}, options);
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
  const JobPlan plan = laid_plan(cluster, options.network, streams, plan_job(cluster, streams));
  return periods(cluster, software, groups, times, {streams, plan}, plain(options));
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
  return SizesInARow(cluster, software, false).of(run, symmetry);
}

/// A call, alone and in a row.
struct SizesInARow::Built {
  Built(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
        const Symmetry& symmetry)
      : once{{run}, {}},
        row(queued(cluster, software, {&run, 1})),
        plan(plan_job(cluster, once, symmetry)),
        draft(cluster, software, plan, false) {}

  /// The only call of the plan; null: there are several, or none.
  QueuedWork* work() {
    std::vector<Kernel>& kernels = plan.streams.front().kernels;
    return kernels.size() == 1 && kernels.front().works.size() == 1 ? &kernels.front().works.front()
                                                                    : nullptr;
  }

  /// Becomes the same call of another size; false where that has to be built.
  bool resize(const CollectiveRun& run, const Symmetry& symmetry) {
    QueuedWork* const known = work();
    if (known == nullptr || !draft.is_resizable() || known->symmetry.moves != symmetry.moves ||
        !is_same_but_for_size(*known->run, run))
      return false;
    Partition partition = partition_of(run, plan.streams.front().members);
    if (!has_channels_of(partition, known->partition)) return false;
    known->partition = std::move(partition);
    once.runs.front() = row.front().runs.front() = run;
    draft.resize();
    return true;
  }

  Stream once;
  std::vector<Stream> row;
  JobPlan plan;
  JobDraft draft;
  KeptMachines machines;
};

SizesInARow::SizesInARow(const Cluster& cluster, const SoftwareCosts& software, bool keeps)
    : cluster_(cluster), software_(software), keeps_(keeps) {}

SizesInARow::~SizesInARow() = default;

bool SizesInARow::gains(const CollectiveRun& a, const CollectiveRun& b) {
  return a.has_algorithm() && a.algorithm == Algorithm::tree && is_same_but_for_size(a, b);
}

Duration SizesInARow::of(const CollectiveRun& run, const Symmetry& symmetry) {
  if (!built_ || !built_->resize(run, symmetry))
    built_ = std::make_unique<Built>(cluster_, software_, run, symmetry);
  SimulationOptions options;
  options.fold = options.fast_forward = true;
  const Prepared prepared{&built_->draft,
                          keeps_ && built_->draft.is_resizable() ? &built_->machines : nullptr};
  const SimulationResult alone =
      simulate_planned(cluster_, software_, built_->once, built_->plan, options, prepared);
  // Calls in a row have the same unless GPUs of a node are merged, which need not start alike.
  if (symmetry.merges_gpus)
    return fabricast::period_of(cluster_, software_, run, symmetry, alone, options);
  if (!overlaps(run, alone)) return alone.time;
  return period_of(cluster_, software_, run, alone, {built_->row, built_->plan, prepared}, options);
}

}  // namespace fabricast
