#pragma once
// Through which NIC, and through whose process, a GPU sends to another node, and which NIC the
// receiver uses (src/graph/search.cc, ncclTopoGetNetDev).

#include <vector>

#include "models/nccl/node/nccl_paths.hpp"

namespace fabricast {

/// Where a message leaves its node: the proxy of `proxy_gpu` sends it through `nic`.
struct P2pExit {
  int nic = 0, proxy_gpu = 0;

  constexpr bool operator==(const P2pExit&) const = default;
};

class P2pNics {
 public:
  P2pNics() = default;
  /// `pxn_level`: NCCL_P2P_PXN_LEVEL. 2, the default: through the NIC on the receiver's rail, by
  /// the GPU next to it, where NVLink leads there. 1: through that NIC if PXN gets there at all.
  P2pNics(const NcclTopology& topology, int channels, int pxn_level);

  /// GPUs by their local ranks; so is the proxy's.
  P2pExit exit(int from_gpu, int to_gpu, int channel) const {
    return exits_[at(from_gpu, to_gpu, channel)];
  }
  int entry(int to_gpu, int channel) const { return exits_[at(to_gpu, to_gpu, channel)].nic; }
  bool operator==(const P2pNics&) const = default;

 private:
  std::size_t at(int from_gpu, int to_gpu, int channel) const {
    return static_cast<std::size_t>((from_gpu * gpus_ + to_gpu) * channels_ + channel % channels_);
  }

  int gpus_ = 0, channels_ = 1;
  std::vector<P2pExit> exits_;  ///< of a GPU to itself: its own NIC
};

}  // namespace fabricast
