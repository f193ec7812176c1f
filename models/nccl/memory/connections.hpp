#pragma once
// Which ranks the algorithms connect on a channel. Two algorithms that need the same connection
// share it; the first one settles its NICs (src/transport.cc, ncclTransportP2pConnect).

#include <vector>

#include "models/nccl/communicator/communicator.hpp"

namespace fabricast {

/// From one rank to another, on one channel. NCCL's connection index 0.
struct Connection {
  int from = 0, to = 0;
  int from_nic = 0, to_nic = 0;  ///< within their nodes; where they are in several
};

/// Those of Ring, Tree, NVLSTree and PAT on a channel, each once, by `from`, then `to`.
std::vector<Connection> connections_of(const Communicator& communicator,
                                       const std::vector<Algorithm>& algorithms, int channel);

}  // namespace fabricast
