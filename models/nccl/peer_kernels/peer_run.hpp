#pragma once
// Runs the stages of a kernel on the links of a cluster: each GPU is a block of the exchange
// (sim/machines/exchange.hpp), a flag, a load or a store is a message between two of them.

#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/peer_kernels/peer_costs.hpp"
#include "models/nccl/peer_kernels/peer_moves.hpp"
#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// What the threads of a kernel do at a time.
struct PeerWindows {
  Bytes loads;         ///< under way from one peer
  Bytes ll;            ///< that LL has under way to one, as on the wire
  Duration before{};   ///< of loads that wait for each other, before the last ones go out
  Duration ll_read{};  ///< from LL's arrival until it has been read, before the next may be stored
  Duration burst{};    ///< of stores to one peer, until those to the next follow: of `full` bytes,
  Bytes full{};        ///< of fewer as much less
};

/// Each GPU reaches each of the others over NVLink. REQUIRES: members of one node.
bool all_nvlink(const Cluster& cluster, const Members& members);

/// From the first stage to the end of the last; `launch` is 0. Where there are more than eight GPUs
/// a message stands for those to several peers: every link carries what it would.
/// REQUIRES: members of one node, which reach each other without a proxy.
SimulationResult simulate_stages(const Cluster& cluster, const Members& members,
                                 const PeerCosts& costs, const PeerGpu& gpu,
                                 const std::vector<KernelStage>& stages, const PeerWindows& windows,
                                 bool explain = false);

}  // namespace fabricast
