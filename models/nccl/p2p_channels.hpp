#pragma once
// Channels of sends and receives: alltoall, gather, scatter, pipeline stages. NCCL's tuner does not
// choose for them; they take what the communicator settles here.

#include "models/nccl/nccl_paths.hpp"
#include "sim/units.hpp"

namespace fabricast {

struct P2pChannelInput {
  int ranks = 1;
  int channels = 1;       ///< of the communicator
  Bytes simple_buffer{};  ///< NCCL_BUFFSIZE
};

struct P2pChannels {
  int all = 1;       ///< over all peers; a power of two
  int per_peer = 1;  ///< a power of two
  Bytes chunk{};

  constexpr bool operator==(const P2pChannels&) const = default;
};

/// src/graph/paths.cc (ncclTopoComputeP2pChannels, ncclTopoGetNchannels) and src/init.cc
/// (computeBuffSizes), with the defaults of NCCL_MIN/MAX_P2P_NCHANNELS, NCCL_NCHANNELS_PER_NET_PEER
/// and NCCL_P2P_*_CHUNKSIZE. REQUIRES: channels >= 1.
P2pChannels p2p_channels(const NcclTopology& topology, const P2pChannelInput& input);

}  // namespace fabricast
