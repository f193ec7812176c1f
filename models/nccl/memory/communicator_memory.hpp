#pragma once
// What one communicator takes of GPU and host memory, rank by rank: it follows from what NCCL
// decided (channels, rings, trees, heads of NVLS, ways between ranks) and from the sizes in
// memory_rows.hpp. Counted is what NCCL allocates itself: neither the CUDA context and the code of
// kernels nor what network plugins, drivers and CUDA graphs take.

#include <array>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/memory/communicator_use.hpp"
#include "models/nccl/memory/memory_rows.hpp"
#include "models/nccl/memory/memory_settings.hpp"

namespace fabricast {

/// All that some rank of a communicator takes.
struct RankMemory {
  std::vector<MemoryRow> rows;  ///< by purpose

  std::int64_t bytes(MemoryPlace place) const;
  bool operator==(const RankMemory&) const = default;
};

struct CommunicatorMemory {
  MemorySettings settings;
  /// That have their connections: those of the use, and without MemorySettings::lazy all that the
  /// communicator has.
  std::vector<Algorithm> connected;
  int channels = 0;  ///< of Ring and Tree
  int sendrecv_channels = 0, channels_per_peer = 0;
  int nvls_channels = 0, nvls_heads = 0;  ///< 0: no NVLS
  std::vector<RankMemory> ranks;

  /// The first of the ranks that take most of their GPUs.
  int fullest() const;
};

/// Most ranks of a communicator whose memory is counted.
inline constexpr int kMemoryRanksMax = 16384;

/// REQUIRES: `communicator` was made on the cluster, with this environment. Throws Error when it
/// has more ranks than that, or for sends and receives what p2p_plan() throws.
CommunicatorMemory communicator_memory(const Cluster& cluster, const Communicator& communicator,
                                       const Environment& environment, const CommunicatorUse& use);

}  // namespace fabricast
