#pragma once
// Over how many channels sends and receives go, and in which pieces: all-to-all and the like are
// made of them. src/graph/paths.cc and src/init.cc of NCCL 2.21.5, 2.27.7 and 2.30.7.

#include "models/nccl/environment/settings.hpp"
#include "models/nccl/node/nccl_paths.hpp"

namespace fabricast {

struct P2pInput {
  int nodes = 1;  ///< as the tuner counts them
  int ranks = 1;
  int communicator_channels = 1;
  int compute_capability_min = 0;
};

struct P2pChannels {
  int channels = 1;
  int per_peer = 1;
  Bytes chunk{128 << 10};  ///< what one step carries at most

  constexpr bool operator==(const P2pChannels&) const = default;
};

P2pChannels p2p_channels(const NcclTopology& topology, const P2pInput& input,
                         const NcclSettings& settings);

}  // namespace fabricast
