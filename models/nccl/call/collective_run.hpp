#pragma once
// A call and everything NCCL decided about it: what is simulated, drawn and explained.

#include <cstdint>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/call/transport.hpp"
#include "models/nccl/custom/custom_algorithm.hpp"
#include "models/nccl/environment/faults.hpp"
#include "models/nccl/sendrecv/p2p_plan.hpp"
#include "models/nccl/sendrecv/p2p_traffic.hpp"
#include "models/nccl/split/partition.hpp"

namespace fabricast {

/// The call and everything NCCL decided about it.
struct CollectiveRun {
  NcclVersion version;
  Collective collective{};
  Algorithm algorithm{};
  Protocol protocol{};
  std::int64_t count = 0;  ///< elements, NCCL's meaning (message_size())
  int element_bytes = 4;
  int root = 0;   ///< rank; where has_root()
  int calls = 1;  ///< equal ones in one group: one kernel, in which each channel runs its works one
                  ///< after another
  bool in_place = false;
  int channels = 1;  ///< what the tuner gave the call
  int communicator_channels = 1;
  int threads = 512;  ///< per block
  BufferSizes buffers;
  ChannelGraph graph;        ///< ring, tree or NVLS, as the algorithm needs
  Members members;           ///< nobody = of all nodes as many GPUs as the graph's chains hold
  HeadRules heads;           ///< NVLS, CollNet
  TransportRules transport;  ///< as the environment has it
  P2pPlan p2p;               ///< sends and receives, which have no algorithm and no graph
  /// All-to-all-v: who sends how much to whom, in place of what the collective says; outlives it.
  const P2pTraffic* traffic = nullptr;
  /// Runs instead of NCCL's own; then of `p2p` the NICs are heeded.
  const CustomAlgorithm* custom = nullptr;
  /// GPUs for which one thread of the host launches this call, one after another; 0: a CUDA graph
  /// holds it, whose one launch is shared by many calls.
  int launches_in_a_row = 1;
  Faults faults;

  /// Thread blocks that stay together for the whole call; not NCCL's sends and receives.
  bool has_algorithm() const { return custom != nullptr || is_tuned(collective); }
};

/// Who takes part.
Members members_of(const CollectiveRun& run, int cluster_nodes);

/// How the call is split over its channels. REQUIRES: has_algorithm().
Partition partition_of(const CollectiveRun& run, const Members& members);
/// How many of the call's channels get work: all of sends and receives.
int working_channels(const CollectiveRun& run, const Members& members);
/// REQUIRES: run.members.
inline int working_channels(const CollectiveRun& run) { return working_channels(run, run.members); }

}  // namespace fabricast
