#include "models/nccl/run/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <optional>

#include "models/hardware/networks/carriers.hpp"
#include "models/hardware/networks/refusals.hpp"
#include "models/nccl/call/launch.hpp"
#include "models/nccl/run/planned.hpp"
#include "models/nccl/run/stream_machine.hpp"
#include "models/nccl/symmetry/network_folds.hpp"
#include "models/nccl/tuner/tuner.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

void check_events(std::uint64_t events, std::uint64_t most) {
  if (events <= most) return;
  constexpr std::uint64_t million = 1'000'000;
  throw Error(fmt::format("{} million slices are too many for this network: at most {} million",
                          events / million, most / million),
              "smaller --sizes or fewer --nodes, or --network chunk");
}

void check_routed(const CollectiveRun& run) {
  const bool sharp = run.has_algorithm() && (run.algorithm == Algorithm::collnet_direct ||
                                             run.algorithm == Algorithm::collnet_chain);
  if (sharp) refuse(Refused::sharp_off_chunk);
  if (!run.faults.outages.empty()) refuse(Refused::outage_off_chunk);
}

void check(const CollectiveRun& run, const SimulationOptions& options) {
  assert(run.custom || !is_tuned(run.collective) ||
         exists(run.algorithm, run.collective, run.version));
  assert(run.count > 0);
  if (options.network.far_ways() != FarWays::by_destination) check_routed(run);
}

template <class Stamp>
void run_machine(StreamMachine<Stamp>& machine, const SimulationOptions& options) {
  check_events(machine.full_events(), options.events_max);
  if (options.fast_forward && options.timeline == nullptr) machine.fast_forward(options.first_look);
  machine.run(options.progress);
}

template <class Stamp>
std::array<Duration, kCauses> causes_of(const Stamp& end) {
  std::array<Duration, kCauses> out{};
  for (int i = 0; i < kCauses; ++i)
    out[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  return out;
}

/// Of one call, launch left out.
template <class Stamp>
struct OneCall {
  using Result = SimulationResult;
  static constexpr Launching kLaunching = Launching::left_out;

  static Result run(StreamMachine<Stamp>& machine, const typename StreamMachine<Stamp>::Setting&,
                    const SimulationOptions& options) {
    run_machine(machine, options);
    Result out;
    const Stamp end = machine.makespan();
    const Losses& losses = machine.losses();
    out.time = {losses.gave_up ? losses.given_up.ps : end.ps};
    static_cast<RunFacts&>(out) = machine.facts(out.time);
    if (options.explain && !losses.gave_up) out.causes = causes_of(end);
    for (const Instant finish : machine.rank_finish(0))
      out.rank_finish.push_back(std::min(finish - Instant{}, out.time));
    return out;
  }
};

/// Of streams.
template <class Stamp>
struct AllCalls {
  using Result = StreamsResult;
  static constexpr Launching kLaunching = Launching::as_gates;

  static Result run(StreamMachine<Stamp>& machine,
                    const typename StreamMachine<Stamp>::Setting& setting,
                    const SimulationOptions& options) {
    run_machine(machine, options);
    Result out;
    const Losses& losses = machine.losses();
    const Instant last = losses.gave_up ? losses.given_up : kNever;
    for (std::size_t i = 0; i < setting.streams.size(); ++i) {
      out.streams.push_back(stream(machine, setting, i, last, options.explain));
      const Duration until = setting.streams[i].start - Instant{} + out.streams.back().time;
      out.time = std::max(out.time, until);
    }
    static_cast<RunFacts&>(out) = machine.facts(out.time);
    return out;
  }

 private:
  static StreamResult stream(const StreamMachine<Stamp>& machine,
                             const typename StreamMachine<Stamp>::Setting& setting,
                             std::size_t number, Instant last, bool explain) {
    const Stream& stream = setting.streams[number];
    StreamResult out;
    Instant end = stream.start;
    Duration serialised;  // launches of one process
    const std::size_t calls = stream.runs.size() * static_cast<std::size_t>(stream.rounds);
    for (std::size_t i = 0; i < calls; ++i) {
      const CollectiveRun& run = stream.runs[i % stream.runs.size()];
      serialised += host_time(run, setting.cluster, setting.software);
      if (machine.kernels(number) == 0) {
        end = end + launch_of(run, setting.cluster, setting.software);
      } else {
        end = std::min(Instant{machine.end_of(number, i).ps}, last);
      }
      end = std::max(end, stream.start + serialised);
      out.ended.push_back(end);
    }
    out.time = end - stream.start;
    for (const Instant finish : machine.rank_finish(number))
      out.rank_finish.push_back(std::min(finish, end));
    if (!explain || machine.kernels(number) == 0 || end == last) return out;
    out.causes = causes_of(machine.end_of(number, calls - 1));
    Duration explained;
    for (const Duration part : out.causes) explained += part;
    out.launch = std::max(out.time - explained, Duration{});
    return out;
  }
};

bool loses(std::span<const Stream> streams) {
  return std::ranges::any_of(streams, [](const Stream& stream) {
    return std::ranges::any_of(
        stream.runs, [](const CollectiveRun& run) { return !run.faults.outages.empty(); });
  });
}

std::string_view forbids_folding(const SimulationOptions& options) {
  if (!options.fold) return "every rank was asked for";
  return options.timeline != nullptr ? "a trace shows ranks one by one" : "";
}

/// The moves by which copies are numbered and, unless every rank is simulated, folded: those that
/// the network lets stand, in full runs too. With others, who is first at a switch would differ.
class Folding {
 public:
  Folding(const Cluster& cluster, std::span<const Stream> streams, const JobPlan& found,
          const SimulationOptions& options)
      : found_(found), forbids_(forbids_folding(options)) {
    if (options.network.far_ways() == FarWays::by_destination) return;
    standing_ = standing_plan(cluster, options.network, streams, found);
    is_carried_ = options.network.carries();
  }

  const JobPlan& plan() const { return standing_ ? *standing_ : found_; }
  bool is_full() const { return !forbids_.empty() || (is_carried_ && plan().copies() == 1); }
  std::string why_not() const { return forbids_.empty() ? plan().why_not : std::string(forbids_); }

 private:
  const JobPlan& found_;
  std::string_view forbids_;
  std::optional<JobPlan> standing_;
  bool is_carried_ = false;
};

/// The run, in the kind of time that it needs.
template <template <class> class What>
auto run_as(const Cluster& cluster, const SoftwareCosts& software, std::span<const Stream> streams,
            const Folding& folding, const Prepared& prepared, const SimulationOptions& options) {
  const JobDraft* const draft = prepared.draft;
  const std::optional<EcmpSeeds> hashes = options.network.hashes();
  const bool fits = draft != nullptr && !options.network.carries() &&
                    draft->is_full() == folding.is_full() && draft->hashes() == hashes;
  const auto run_with = [&]<class Stamp>(Carrier* carrier, KeptMachines* kept, Stamp) {
    typename StreamMachine<Stamp>::Setting setting{
        cluster,           software, streams, folding.plan(), What<Stamp>::kLaunching,
        folding.is_full(), carrier,  hashes};
    if (fits) setting.draft = draft;
    if constexpr (!Stamp::kCausal) {
      if (fits && kept != nullptr) return What<Stamp>::run(kept->of(setting), setting, options);
    }
    StreamMachine<Stamp> machine(setting);
    return What<Stamp>::run(machine, setting, options);
  };
  const auto run = [&] {
    if (!options.network.carries() && !options.explain && !loses(streams))
      return run_with(nullptr, prepared.machines, PlainStamp{});
    std::unique_ptr<Carrier> carrier;
    if (options.network.carries()) carrier = make_carrier(cluster, options.network);
    return run_with(carrier.get(), nullptr, CausalStamp{});
  };
  auto result = run();
  result.why_not_folded = folding.why_not();
  return result;
}

/// The same run again, watched.
Timeline watch(const Cluster& cluster, const SoftwareCosts& software,
               std::span<const Stream> streams, const JobPlan& plan,
               const SimulationOptions& options, Launching launching, const RunFacts& seen,
               Duration time) {
  TimelineWatch watch(plan, options.shown, time);
  std::unique_ptr<Carrier> carrier;
  if (options.network.carries()) carrier = make_carrier(cluster, options.network);
  StreamMachine<CausalStamp> machine({cluster, software, streams, plan, launching, true,
                                      carrier.get(), options.network.hashes(), &watch});
  machine.run({});
  if (machine.facts(time).digest != seen.digest)
    throw std::logic_error("the run that is watched is not the one that was timed");
  Timeline timeline = watch.draft.take();
  // Schedules may have links of their own, which stand for what trees in the network share.
  std::erase_if(timeline.links,
                [&](const TimelineLink& link) { return index_of(link.link) >= cluster.links(); });
  return timeline;
}

void list_kernels(std::span<const Stream> streams, const StreamsResult& result,
                  Timeline& timeline) {
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    Instant start = streams[i].start;
    for (std::uint32_t call = 0; call < result.streams[i].ended.size(); ++call) {
      timeline.kernels.push_back({i, call, start, result.streams[i].ended[call]});
      start = timeline.kernels.back().end;
    }
  }
}

}  // namespace

SimulationResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                                  const Stream& stream, const JobPlan& plan,
                                  const SimulationOptions& options, const Prepared& prepared) {
  const CollectiveRun& run = stream.runs.front();
  check(run, options);
  const Members& members = plan.streams.front().members;
  const Folding folding(cluster, {&stream, 1}, plan, options);
  SimulationResult result;
  if (members.ranks() == 1) {
    result.rank_finish.resize(1);
    result.nodes_simulated = 1;
  } else {
    result = run_as<OneCall>(cluster, software, {&stream, 1}, folding, prepared, options);
    if (run.has_algorithm()) result.partition = partition_of(run, members);
  }
  if (options.timeline != nullptr && members.ranks() > 1 && !result.losses.gave_up)
    *options.timeline = watch(cluster, software, {&stream, 1}, folding.plan(), options,
                              Launching::left_out, result, result.time);
  const Duration makespan = result.time;
  const Duration serialised = host_time(run, cluster, software);
  const Duration launch = launch_of(run, cluster, software);
  result.time = std::max(makespan + launch, serialised);
  result.launch = result.time - makespan;
  if (options.timeline != nullptr) options.timeline->launch = result.launch;
  return result;
}

std::string why_not_folded(const Cluster& cluster, const CollectiveRun& run,
                           const Symmetry& symmetry, const SimulationOptions& options) {
  const std::string_view forbids = forbids_folding(options);
  if (!forbids.empty()) return std::string(forbids);
  return standing_symmetry(cluster, options.network, run, symmetry).why_not;
}

int copies_simulated(const Cluster& cluster, const CollectiveRun& run, const Symmetry& symmetry,
                     const SimulationOptions& options) {
  if (symmetry.copies() == 1 || !forbids_folding(options).empty()) return 1;
  return standing_symmetry(cluster, options.network, run, symmetry).copies();
}

SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const SimulationOptions& options) {
  const Stream stream{{run}, {}};
  return simulate_planned(cluster, software, stream, plan_job(cluster, {&stream, 1}), options);
}

SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Symmetry& symmetry,
                          const SimulationOptions& options) {
  const Stream stream{{run}, {}};
  return simulate_planned(cluster, software, stream, plan_job(cluster, stream, symmetry), options);
}

std::vector<Stream> streams_of(std::span<const CollectiveRun> runs, int calls) {
  std::vector<Stream> out;
  for (const CollectiveRun& run : runs)
    out.push_back({std::vector<CollectiveRun>(static_cast<std::size_t>(calls), run), {}});
  return out;
}

StreamsResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                       std::span<const Stream> streams, const SimulationOptions& options) {
  return simulate(cluster, software, streams, plan_job(cluster, streams), options);
}

StreamsResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                       std::span<const Stream> streams, const JobPlan& plan,
                       const SimulationOptions& options) {
  return simulate_planned(cluster, software, streams, plan, options, {});
}

StreamsResult simulate_planned(const Cluster& cluster, const SoftwareCosts& software,
                               std::span<const Stream> streams, const JobPlan& plan,
                               const SimulationOptions& options, const Prepared& prepared) {
  for (const Stream& stream : streams)
    for (const CollectiveRun& run : stream.runs) check(run, options);
  const Folding folding(cluster, streams, plan, options);
  StreamsResult result = run_as<AllCalls>(cluster, software, streams, folding, prepared, options);
  if (options.timeline != nullptr && !result.losses.gave_up) {
    *options.timeline = watch(cluster, software, streams, folding.plan(), options,
                              Launching::as_gates, result, result.time);
    list_kernels(streams, result, *options.timeline);
  }
  return result;
}

}  // namespace fabricast
