#include "models/nccl/peer_kernels/peer_run.hpp"

#include "models/nccl/call/transport.hpp"
#include "models/nccl/peer_kernels/peer_schedule.hpp"
#include "models/nccl/run/link_loads.hpp"
#include "models/nccl/symmetry/simulated_links.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

template <class Stamp>
SimulationResult run(const Cluster& cluster, const PeerSchedule& schedule, int gpus) {
  Executor<Stamp> executor;
  const SimulatedLinks links(executor, cluster);
  Exchange<Stamp> exchange(schedule, static_cast<std::uint32_t>(gpus), 0, executor.queue(),
                           executor.transit());
  for (const MessageKind& kind : schedule.kinds()) exchange.add_kind(kind);
  executor.host(exchange);
  executor.run();
  SimulationResult out;
  const Stamp end = executor.makespan();
  out.time = {end.ps};
  if constexpr (Stamp::kCausal) {
    for (int i = 0; i < kCauses; ++i)
      out.causes[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  }
  for (int rank = 0; rank < gpus; ++rank)
    out.rank_finish.push_back({exchange.finished(static_cast<std::uint32_t>(rank)).ps});
  out.links =
      link_loads(cluster, out.time, [&](std::uint32_t link) { return executor.carried(link); });
  out.events = executor.events();
  out.slices = exchange.chunks();
  out.nodes_simulated = 1;
  out.digest = executor.digest();
  return out;
}

}  // namespace

bool all_nvlink(const Cluster& cluster, const Members& members) {
  for (int a = 0; a < members.ranks(); ++a) {
    for (int b = 0; b < members.ranks(); ++b) {
      if (a == b) continue;
      const Transport way = plan_transport(cluster, members.gpus(), Protocol::simple,
                                           {members.node(a), members.gpu(a), 0},
                                           {members.node(b), members.gpu(b), 0});
      if (way.kind != HopKind::nvlink) return false;
    }
  }
  return true;
}

SimulationResult simulate_stages(const Cluster& cluster, const Members& members,
                                 const PeerCosts& costs, const PeerGpu& gpu,
                                 const std::vector<KernelStage>& stages, const PeerWindows& windows,
                                 bool explain) {
  const PeerSchedule schedule(cluster, members, costs, gpu, stages, windows);
  const int gpus = members.ranks();
  return explain ? run<CausalStamp>(cluster, schedule, gpus)
                 : run<PlainStamp>(cluster, schedule, gpus);
}

}  // namespace fabricast
