#include "models/nccl/run/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>
#include <utility>

#include "models/hardware/networks/carriers.hpp"
#include "models/nccl/programs/custom_program.hpp"
#include "models/nccl/run/call_group.hpp"
#include "models/nccl/run/link_loads.hpp"
#include "models/nccl/run/p2p_simulation.hpp"
#include "models/nccl/run/progress_share.hpp"
#include "models/nccl/run/timeline_recorder.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/tuner/tuner.hpp"
#include "sim/base/digest.hpp"
#include "sim/base/error.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {

namespace {

void add_outages(auto& executor, const Cluster& cluster, const Faults& faults) {
  for (const auto& [link, outage] : faults.outages)
    executor.set_outage(index_of(link), cluster.link(link).rate, outage);
  executor.set_retry(faults.retry);
}

void check_events(std::uint64_t events, std::uint64_t most) {
  if (events <= most) return;
  constexpr std::uint64_t million = 1'000'000;
  throw Error(fmt::format("{} million slices are too many for this network: at most {} million",
                          events / million, most / million),
              "smaller --sizes or fewer --nodes, or --network chunk");
}

template <class Stamp>
SimulationResult execute(const Cluster& cluster, const SoftwareCosts& software,
                         const CollectiveRun& run, const Fold& fold,
                         const SimulationOptions& options, Partition partition,
                         Carrier* carrier = nullptr) {
  SimulationResult result;
  result.partition = std::move(partition);
  const bool may_fold = forbids_folding(options).empty();
  const bool folds = may_fold && fold.copies_in_all() > 1;
  const auto copies = static_cast<std::uint64_t>(folds ? fold.copies_in_all() : 1);
  result.nodes_simulated = folds ? fold.nodes_simulated() : fold.nodes * fold.copies;
  result.rails_folded = folds ? fold.rails.copies : 1;
  result.why_not_folded = why_not_folded(fold, options);
  Executor<Stamp> executor;
  if (!folds) add_links(executor, cluster);
  Assembly assembly(executor, cluster, software, run, result.partition, fold, !may_fold);
  add_schedule(assembly);
  check_events(assembly.full_events(assembly.events()), options.events_max);
  if constexpr (Stamp::kLossy) add_outages(executor, cluster, run.faults);
  if constexpr (Stamp::kCarried) executor.hand_over(*carrier);
  if constexpr (Stamp::kRepeats) {
    if (options.fast_forward && options.timeline == nullptr)
      executor.set_fast_forward(options.first_look);
  }
  executor.run(progress_share(options.progress, assembly.events()));
  if constexpr (Stamp::kLossy) result.losses = executor.losses();

  const Stamp end = executor.makespan();
  result.time = {result.losses.gave_up ? result.losses.given_up.ps : end.ps};
  for (int i = 0; options.explain && !result.losses.gave_up && i < kCauses; ++i)
    result.causes[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  const int period = folds ? fold.nodes * assembly.gpus() : assembly.ranks();
  for (int rank = 0; rank < assembly.ranks(); ++rank) {
    Duration finish;
    if (rank >= period) {
      finish = result.rank_finish[static_cast<std::size_t>(rank - period)];
    } else {
      for (const std::uint32_t worker : assembly.workers(rank))
        finish = std::max(finish, Duration{executor.finished(worker).ps});
    }
    result.rank_finish.push_back(std::min(finish, result.time));
  }
  if (folds) {
    std::map<std::uint32_t, Bytes> carried;
    for (const auto& [link, id] : assembly.folded_links()) carried[link] = executor.carried(id);
    result.links = link_loads(cluster, result.time, carried, fold.copies_in_all());
    for (LinkLoad& load : result.links) load.copies = fold.copies_of(cluster, load.link);
  } else {
    result.links = link_loads(cluster, result.time, [&](std::uint32_t link) {
      return executor.carried(link) + (carrier != nullptr ? carrier->carried(link) : Bytes{});
    });
  }
  result.events = assembly.full_events(executor.events());
  result.merged = assembly.has_merged();
  result.channels_simulated = assembly.lanes_standing_for_others();
  result.events_skipped = result.events - (executor.events() - executor.events_skipped());
  result.slices = assembly.slices() * copies;
  result.digest = executor.digest();
  if (carrier != nullptr) add_carrier(result, *carrier);
  return result;
}

void check_carried(const CollectiveRun& run, const SimulationOptions& options) {
  const bool sharp = run.has_algorithm() && (run.algorithm == Algorithm::collnet_direct ||
                                             run.algorithm == Algorithm::collnet_chain);
  const char* what = sharp                         ? "SHARP"
                     : !run.faults.outages.empty() ? "a link that goes down"
                     : options.timeline != nullptr ? "a trace"
                     : run.calls > 1               ? "a group of calls"
                     : !run.transport.network.fused.empty()
                         ? "a message split over NICs that NCCL takes for one"
                         : nullptr;
  if (what == nullptr) return;
  throw Error(std::string(what) + " is simulated on the chunk rung with static routes only",
              "--routing static, and no --network");
}

/// The same run again, watched.
Timeline watch(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
               const Fold& fold, const TimelineFilter& shown, const SimulationResult& seen) {
  Executor<ObservedStamp> executor;
  const int ranks = members_of(run, cluster.nodes()).ranks();
  TimelineRecorder recorder(executor, shown, ranks, seen.time);
  add_links(recorder, cluster);
  Assembly assembly(recorder, cluster, software, run, seen.partition, fold, true);
  add_schedule(assembly);
  std::vector<int> channels;
  for (const ChannelPart& part : seen.partition.parts) channels.push_back(part.channel);
  for (int rank = 0; rank < assembly.ranks(); ++rank)
    recorder.show(rank, assembly.workers(rank), channels);
  executor.watch(recorder);
  add_outages(executor, cluster, run.faults);
  executor.run();
  assert(executor.digest() == seen.digest);
  Timeline timeline = recorder.take();
  // Schedules may have links of their own, which stand for what trees in the network share.
  std::erase_if(timeline.links,
                [&](const TimelineLink& link) { return index_of(link.link) >= cluster.links(); });
  return timeline;
}

}  // namespace

std::string_view forbids_folding(const SimulationOptions& options) {
  if (!options.fold) return "every rank was asked for";
  if (options.timeline != nullptr) return "a trace shows ranks one by one";
  if (options.network.carries()) return "on this network every rank is simulated";
  return "";
}

std::string why_not_folded(const Fold& fold, const SimulationOptions& options) {
  const std::string_view forbids = forbids_folding(options);
  return forbids.empty() ? fold.why_not : std::string(forbids);
}

void add_carrier(SimulationResult& result, const Carrier& carrier) {
  result.events += carrier.events();
  mix_digest(result.digest, carrier.digest());
}

SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const SimulationOptions& options) {
  return simulate(cluster, software, run, find_fold(cluster, run), options);
}

SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Fold& fold,
                          const SimulationOptions& options) {
  assert(run.custom || !is_tuned(run.collective) ||
         exists(run.algorithm, run.collective, run.version));
  assert(run.count > 0);
  assert(run.calls == 1 ||
         (run.has_algorithm() && run.faults.outages.empty() && options.timeline == nullptr));
  const Members members = members_of(run, cluster.nodes());
  const int ranks = members.ranks();
  SimulationResult result;
  if (ranks == 1) {
    result.rank_finish.resize(1);
    result.nodes_simulated = 1;
  } else if (options.network.carries()) {
    check_carried(run, options);
    const std::unique_ptr<Carrier> carrier = make_carrier(cluster, options.network);
    result = run.has_algorithm() ? execute<CarriedStamp>(cluster, software, run, fold, options,
                                                         partition_of(run, members), carrier.get())
                                 : exchange(cluster, software, run, fold, options, carrier.get());
  } else if (!run.has_algorithm()) {
    result = exchange(cluster, software, run, fold, options);
  } else if (run.calls > 1) {
    result = simulate_group(cluster, software, run, partition_of(run, members), options.explain,
                            options.progress);
  } else if (!run.faults.outages.empty()) {
    result = execute<LossyStamp>(cluster, software, run, fold, options, partition_of(run, members));
  } else if (options.explain) {
    result =
        execute<CausalStamp>(cluster, software, run, fold, options, partition_of(run, members));
  } else {
    result = execute<PlainStamp>(cluster, software, run, fold, options, partition_of(run, members));
  }
  if (options.timeline != nullptr && run.has_algorithm() && ranks > 1 && !result.losses.gave_up)
    *options.timeline = watch(cluster, software, run, fold, options.shown, result);
  const Duration makespan = result.time;
  const Duration serialised = software.launch_per_gpu * run.gpus_per_process;
  const Duration launch = software.launch(run.protocol, cluster.node().cpus().front().part);
  result.time = std::max(makespan + launch, serialised);
  result.launch = result.time - makespan;
  if (options.timeline != nullptr) options.timeline->launch = result.launch;
  return result;
}

}  // namespace fabricast
