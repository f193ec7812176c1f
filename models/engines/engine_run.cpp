#include "models/engines/engine_run.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/nccl/peer_kernels/peer_run.hpp"

namespace fabricast {
namespace {

constexpr int kBlocksMax = 36, kThreads = 512;  // vLLM, csrc/custom_all_reduce.cuh
constexpr int kVectorBytes = 16;

bool copies_first(EngineKernel kernel) {
  return kernel == EngineKernel::multimem || kernel == EngineKernel::symmetric;
}

/// Before the first byte moves.
Duration start_of(const EngineCosts& costs, const PeerGpu& gpu, EngineKernel kernel) {
  switch (kernel) {
    case EngineKernel::lamport:
    case EngineKernel::synced:
      return costs.node + cycles(costs.lamport_body, gpu);
    case EngineKernel::push:
    case EngineKernel::pull:
    case EngineKernel::fused:
      return costs.node + cycles(costs.sglang_body, gpu);
    default:
      return copies_first(kernel) ? costs.node + costs.copy * 2 : costs.node;
  }
}

Bytes times(Bytes bytes, double factor) {
  return {std::llround(static_cast<double>(bytes.count) * factor)};
}

/// What a kernel has under way from one peer.
Bytes window_of(const EngineCosts& costs, EngineKernel kernel, int multiprocessors) {
  switch (kernel) {
    case EngineKernel::pull:
    case EngineKernel::fused:
    case EngineKernel::symmetric:
      return times(costs.window, costs.pull_window);
    case EngineKernel::synced:
      return kRow * multiprocessors;
    default:
      return costs.window;
  }
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
  out.all_nvlink = all_nvlink(cluster, members);
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
  const GpuPart& part = cluster.node().gpus().front().part;
  const PeerGpu& gpu = costs_of(costs, part.sm);
  const int multiprocessors = part.multiprocessors > 0 ? part.multiprocessors : kMultiprocessors;
  SimulationResult out =
      simulate_stages(cluster, members, costs, gpu,
                      plan_kernel(call.kernel, members.ranks(), call.size, multiprocessors),
                      {window_of(costs, call.kernel, multiprocessors), {}}, explain);
  const Duration makespan = out.time;
  out.time = out.time + start_of(costs, gpu, call.kernel);
  if (!call.cuda_graph) {
    const Duration copied = costs.node + transfer_time(call.size * 2, gpu.local);
    out.time =
        std::max(out.time + copied, cluster.node().python_time(host_call_of(costs, call.release)));
  }
  out.launch = out.time - makespan;
  return out;
}

}  // namespace fabricast
