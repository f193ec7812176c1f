#include "models/nccl/call/launch.hpp"

#include <algorithm>

namespace fabricast {

int blocks_of(const CollectiveRun& run, const Members& members) {
  if (run.has_algorithm()) return working_channels(run, members);
  const int peers = run.collective == Collective::sendrecv ? 1 : members.ranks();
  const Bytes message{
      message_size(run.collective, run.count, run.element_bytes, members.ranks()).count / peers};
  return std::min(run.channels, peers * p2p_split(run.p2p.rules, message).parts);
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

}  // namespace fabricast
