#include "models/nccl/p2p_simulation.hpp"

#include <algorithm>
#include <cassert>

#include "models/nccl/exchange_recorder.hpp"
#include "models/nccl/link_loads.hpp"

namespace fabricast {
namespace {

/// Links, kinds of messages, and what goes down.
template <class Stamp>
void furnish(Exchange<Stamp>& machine, const P2pSchedule& schedule, const Cluster& cluster,
             const Faults& faults) {
  for (std::uint32_t link = 0; link < cluster.links(); ++link) {
    const ClusterLink spec = cluster.link(LinkId{link});
    machine.add_link({spec.rate, spec.latency});
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
  furnish(machine, schedule, config.cluster, faults);
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
  Exchange<Stamp> machine(schedule, schedule.blocks(), schedule.threads());
  furnish(machine, schedule, cluster, faults);
  if constexpr (Stamp::kCarried) machine.hand_over(*carrier);
  machine.run(progress);

  SimulationResult result;
  if constexpr (Stamp::kLossy) result.losses = machine.losses();
  const Stamp end = machine.makespan();
  result.time = {result.losses.gave_up ? result.losses.given_up.ps : end.ps};
  for (int i = 0; !result.losses.gave_up && i < kCauses; ++i)
    result.causes[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  const std::uint32_t channels = schedule.blocks() / ranks;
  result.rank_finish.resize(ranks);
  for (std::uint32_t block = 0; block < schedule.blocks(); ++block) {
    Duration& finish = result.rank_finish[block / channels];
    finish = std::max(finish, Duration{machine.finished(block).ps});
    finish = std::min(finish, result.time);
  }
  result.links = link_loads(cluster, result.time, [&](std::uint32_t link) {
    return machine.carried(link) + (carrier != nullptr ? carrier->carried(link) : Bytes{});
  });
  result.events = machine.events();
  result.slices = machine.chunks();
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
                          const CollectiveRun& run, const SimulationOptions& options,
                          Carrier* carrier) {
  const P2pTraffic traffic(run.collective, run.members.ranks(),
                           Bytes{run.count * run.element_bytes}, run.root);
  const P2pSchedule::Config config{cluster, software,      run.members, run.p2p,
                                   traffic, run.transport, run.in_place};
  if (carrier != nullptr) return exchange<CarriedStamp>(config, options.progress, carrier);
  SimulationResult result =
      !run.faults.outages.empty()
          ? exchange<LossyStamp>(config, options.progress, nullptr, run.faults)
      : options.explain ? exchange<CausalStamp>(config, options.progress)
                        : exchange<PlainStamp>(config, options.progress);
  if (options.timeline != nullptr && !result.losses.gave_up)
    *options.timeline = watch(config, run.faults, options.shown, result);
  return result;
}

}  // namespace fabricast
