#include "models/nccl/call/launch.hpp"

#include <algorithm>

#include "models/nccl/call/message_cut.hpp"

namespace fabricast {
namespace {

/// Sends and receives that a thread with so many GPUs, the root's among them, enqueues. nccl-tests
/// and NCCL let a rank send to itself, too (alltoall.cu and gather.cu of nccl-tests).
std::int64_t messages_of(const CollectiveRun& run, std::int64_t ranks, std::int64_t gpus) {
  if (run.has_algorithm()) return 0;
  switch (run.collective) {
    case Collective::alltoall:
      return 2 * ranks * gpus * run.calls;
    case Collective::gather:
    case Collective::scatter:
      return (ranks + gpus) * run.calls;
    default:
      return 2 * gpus * run.calls;
  }
}

}  // namespace

int blocks_of(const CollectiveRun& run, const Members& members) {
  if (run.has_algorithm()) return working_channels(run, members);
  const int peers = run.collective == Collective::sendrecv ? 1 : members.ranks();
  const P2pCut cut = message_cut(run, run.p2p.rules.several_nodes);
  return std::min(run.channels, peers * cut.split.parts);
}

Duration launch_of(const CollectiveRun& run, const Cluster& cluster,
                   const SoftwareCosts& software) {
  constexpr int kHopper = 90;
  const GpuPart& gpu = cluster.node().gpus().front().part;
  const Duration launch = software.launch(run.protocol, gpu);
  const bool in_host_memory =
      run.version < kNccl2_22 && gpu.sm < kHopper && run.launches_in_a_row > 0;
  if (!in_host_memory) return launch;
  return launch + software.work_read * blocks_of(run, members_of(run, cluster.nodes()));
}

Duration host_time(const CollectiveRun& run, const Cluster& cluster,
                   const SoftwareCosts& software) {
  const int gpus = run.launches_in_a_row;
  if (gpus == 0) return {};
  const int ranks = members_of(run, cluster.nodes()).ranks();
  return software.launch_per_gpu * gpus +
         software.launch_per_message * messages_of(run, ranks, gpus);
}

}  // namespace fabricast
