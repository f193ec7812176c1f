#include "models/engines/engine_run.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/engines/kernel_schedule.hpp"
#include "models/nccl/call/transport.hpp"
#include "models/nccl/run/link_loads.hpp"
#include "models/nccl/symmetry/simulated_links.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

constexpr int kBlocksMax = 36, kThreads = 512;  // vLLM, csrc/custom_all_reduce.cuh
constexpr int kVectorBytes = 16;

bool copies_first(EngineKernel kernel) {
  return kernel == EngineKernel::multimem || kernel == EngineKernel::symmetric;
}

Duration cycles(Duration at_1GHz, const EngineGpu& gpu) {
  return {std::llround(static_cast<double>(at_1GHz.ps) / gpu.clock_GHz)};
}

/// Before the first byte moves.
Duration start_of(const EngineCosts& costs, const EngineGpu& gpu, EngineKernel kernel) {
  switch (kernel) {
    case EngineKernel::lamport:
    case EngineKernel::scatter:
      return costs.node + cycles(costs.lamport_body, gpu);
    case EngineKernel::push:
    case EngineKernel::pull:
    case EngineKernel::fused:
      return costs.node + cycles(costs.sglang_body, gpu);
    default:
      return copies_first(kernel) ? costs.node + costs.copy * 2 : costs.node;
  }
}

template <class Stamp>
SimulationResult run(const Cluster& cluster, const KernelSchedule& schedule, int gpus) {
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

EngineQuestion question_of(const EngineRelease& release, const Cluster& cluster,
                           const Members& members, Bytes size, bool bfloat16, int element_bytes) {
  const NodeGraph& node = cluster.node();
  EngineQuestion out;
  out.release = release;
  out.sm = node.gpus().front().part.sm;
  out.gpus = members.ranks();
  const int per_host = static_cast<int>(node.gpus().size()) / node.trays();
  const int first = members.node(0) * node.trays() + members.gpu(0) / per_host;
  int hosts = 1;
  for (int rank = 1; rank < members.ranks(); ++rank)
    hosts = std::max(hosts,
                     members.node(rank) * node.trays() + members.gpu(rank) / per_host - first + 1);
  out.hosts = hosts;
  out.size = size;
  out.bfloat16 = bfloat16;
  out.element_bytes = element_bytes;
  out.multicast = out.sm >= 90 && !node.nvswitches().empty();
  if (hosts > 1) return out;
  for (int a = 0; a < out.gpus; ++a) {
    for (int b = 0; b < out.gpus; ++b) {
      if (a == b) continue;
      const Transport way = plan_transport(cluster, members.gpus(), Protocol::simple,
                                           {members.node(a), members.gpu(a), 0},
                                           {members.node(b), members.gpu(b), 0});
      out.all_nvlink = out.all_nvlink && way.kind == HopKind::nvlink;
    }
  }
  return out;
}

int blocks_of(EngineKernel kernel, Bytes size) {
  if (kernel == EngineKernel::nccl) return 0;
  const std::int64_t needed =
      (size.count + kThreads * kVectorBytes - 1) / (kThreads * kVectorBytes);
  return static_cast<int>(std::min<std::int64_t>(kBlocksMax, needed));
}

SimulationResult simulate_engine(const Cluster& cluster, const Members& members,
                                 const EngineCosts& costs, const EngineCall& call, bool explain) {
  assert(members.node_count() == 1);
  const EngineGpu& gpu = costs_of(costs, cluster.node().gpus().front().part.sm);
  const KernelSchedule schedule(cluster, members, costs, gpu, call.kernel, call.size);
  const int gpus = members.ranks();
  SimulationResult out = explain ? run<CausalStamp>(cluster, schedule, gpus)
                                 : run<PlainStamp>(cluster, schedule, gpus);
  const Duration makespan = out.time;
  out.time = out.time + start_of(costs, gpu, call.kernel);
  if (!call.cuda_graph) {
    const Duration copied = costs.node + transfer_time(call.size * 2, gpu.local);
    out.time =
        std::max(out.time + copied, costs.host_call[static_cast<std::size_t>(call.release.engine)]);
  }
  out.launch = out.time - makespan;
  return out;
}

}  // namespace fabricast
