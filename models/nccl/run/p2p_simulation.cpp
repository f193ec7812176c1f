#include "models/nccl/run/p2p_simulation.hpp"

#include <algorithm>
#include <cassert>

#include "models/nccl/run/exchange_recorder.hpp"
#include "models/nccl/run/link_loads.hpp"

namespace fabricast {
namespace {

/// Links, kinds of messages, and what goes down.
template <class Stamp>
void furnish(Exchange<Stamp>& machine, const P2pSchedule& schedule,
             const P2pSchedule::Config& config, const Faults& faults) {
  const Cluster& cluster = config.cluster;
  const auto add_link = [&](LinkId link) {
    const ClusterLink spec = cluster.link(link);
    machine.add_link({spec.rate, spec.latency, spec.lanes});
  };
  if (config.is_folded) {
    for (const LinkId link : schedule.copies().folded_links()) add_link(link);
  } else {
    for (std::uint32_t link = 0; link < cluster.links(); ++link) add_link(LinkId{link});
  }
  for (const MessageKind& kind : schedule.kinds()) machine.add_kind(kind);
  if constexpr (Stamp::kLossy) {
    for (const auto& [link, outage] : faults.outages)
      machine.set_outage(index_of(link), cluster.link(link).rate, outage);
    machine.set_retry(faults.retry);
  }
}

/// The same run again, watched.
Timeline watch(const P2pSchedule::Config& config, const Faults& faults, const TimelineFilter& shown,
               const SimulationResult& seen) {
  const P2pSchedule schedule(config);
  ExchangeRecorder recorder(schedule, config.traffic.ranks(), shown, seen.time);
  Exchange<ObservedStamp> machine(schedule, schedule.blocks(), schedule.threads());
  furnish(machine, schedule, config, faults);
  machine.watch(recorder);
  machine.run();
  assert(machine.digest() == seen.digest);
  return recorder.take();
}

}  // namespace

template <class Stamp>
SimulationResult exchange(const P2pSchedule::Config& config,
                          const std::function<void(double)>& progress, Carrier* carrier,
                          const Faults& faults) {
  const Cluster& cluster = config.cluster;
  const auto ranks = static_cast<std::uint32_t>(config.traffic.ranks());
  const P2pSchedule schedule(config);
  const P2pCopies& copies = schedule.copies();
  Exchange<Stamp> machine(schedule, schedule.blocks(), schedule.threads());
  furnish(machine, schedule, config, faults);
  if constexpr (Stamp::kCarried) machine.hand_over(*carrier);
  machine.run(progress);

  SimulationResult result;
  if constexpr (Stamp::kLossy) result.losses = machine.losses();
  const Stamp end = machine.makespan();
  result.time = {result.losses.gave_up ? result.losses.given_up.ps : end.ps};
  for (int i = 0; !result.losses.gave_up && i < kCauses; ++i)
    result.causes[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  const auto channels = static_cast<std::uint32_t>(schedule.channels());
  result.rank_finish.resize(ranks);
  for (std::uint32_t block = 0; block < ranks * channels; ++block) {
    Duration& finish = result.rank_finish[block / channels];
    finish = std::max(finish, Duration{machine.finished(copies.number(block)).ps});
    finish = std::min(finish, result.time);
  }
  if (config.is_folded) {
    std::map<std::uint32_t, Bytes> carried;
    for (std::uint32_t id = 0; id < copies.folded_links().size(); ++id)
      carried[index_of(copies.folded_links()[id])] = machine.carried(id);
    result.links = link_loads(cluster, result.time, carried, config.fold->copies);
  } else {
    result.links = link_loads(cluster, result.time, [&](std::uint32_t link) {
      return machine.carried(link) + (carrier != nullptr ? carrier->carried(link) : Bytes{});
    });
  }
  const auto times = static_cast<std::uint64_t>(config.is_folded ? config.fold->copies : 1);
  result.events = machine.events() * times;
  result.events_skipped = result.events - machine.events();
  result.slices = machine.chunks() * times;
  result.digest = machine.digest();
  if (carrier != nullptr) add_carrier(result, *carrier);
  return result;
}

template SimulationResult exchange<PlainStamp>(const P2pSchedule::Config&,
                                               const std::function<void(double)>&, Carrier*,
                                               const Faults&);
template SimulationResult exchange<CausalStamp>(const P2pSchedule::Config&,
                                                const std::function<void(double)>&, Carrier*,
                                                const Faults&);

SimulationResult exchange(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Fold& fold,
                          const SimulationOptions& options, Carrier* carrier) {
  const P2pTraffic traffic(run.collective, run.members.ranks(),
                           Bytes{run.count * run.element_bytes}, run.root);
  const bool is_folded = forbids_folding(options).empty() && fold.copies > 1;
  const P2pSchedule::Config config{cluster,   software,       run.members,  run.p2p,
                                   traffic,   run.transport,  run.in_place, &fold,
                                   is_folded, run.faults.gpus};
  SimulationResult result =
      carrier != nullptr ? exchange<CarriedStamp>(config, options.progress, carrier)
      : !run.faults.outages.empty()
          ? exchange<LossyStamp>(config, options.progress, nullptr, run.faults)
      : options.explain ? exchange<CausalStamp>(config, options.progress)
                        : exchange<PlainStamp>(config, options.progress);
  if (options.timeline != nullptr && !result.losses.gave_up)
    *options.timeline = watch(config, run.faults, options.shown, result);
  result.nodes_simulated = is_folded ? fold.nodes : run.members.node_count();
  result.why_not_folded = why_not_folded(fold, options);
  return result;
}

}  // namespace fabricast
