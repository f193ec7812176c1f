#pragma once
// How NVLS is set up on a communicator: its channels and the largest pieces it moves. src/init.cc
// and src/transport/nvls.cc of NCCL 2.21.5, 2.27.7 and 2.30.7.

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/environment/settings.hpp"

namespace fabricast {

struct NvlsInput {
  NcclVersion version = kNccl2_21_5;
  int nodes = 1;
  int ranks_per_node = 1;
  int compute_capability_min = 0;
  float net_bw = 0;                     ///< GB/s of the slowest NIC that a rank uses
  PathType type_inter = PathType::loc;  ///< of the NVLS graph
};

struct NvlsSetup {
  int channels = 0;
  Bytes chunk{128 << 10};
  Bytes tree_chunk_max{128 << 10};  ///< of NVLSTree

  constexpr bool operator==(const NvlsSetup&) const = default;
};

/// REQUIRES: NVLS is on.
NvlsSetup nvls_setup(const NvlsInput& input, const NcclSettings& settings);

}  // namespace fabricast
