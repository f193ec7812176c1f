#pragma once
// From the number of channels a search found to those of the communicator.

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/environment/settings.hpp"

namespace fabricast {

struct ChannelCountInput {
  NcclVersion version = kNccl2_21_5;
  int nodes = 1;
  int compute_capability_min = 0;  ///< over all ranks, e.g. 90
  int searched = 0;                ///< of ring and tree: the smaller of the two
  float ring_bw_intra = 0;         ///< GB/s per channel
  int nvls = 0;                    ///< channels of NVLS; 0 = no NVLS
  bool collnet_widens =
      false;  ///< CollNet is on, faster inside than between nodes, and ranks > nodes
};

struct ChannelCounts {
  int collective = 0;    ///< what Ring and Tree were given
  int communicator = 0;  ///< in all; up to 2.27 NVLS may ask for more

  /// Where the tuner starts for Ring and Tree: 2.27 takes the extension by NVLS for theirs, too.
  constexpr int of_ring_and_tree(NcclVersion version) const {
    return version < kNccl2_22 ? collective : communicator;
  }
  constexpr bool operator==(const ChannelCounts&) const = default;
};

/// src/graph/connect.cc (ncclTopoPostset) and init.cc: two trees double the channels, Hopper on
/// several nodes doubles them again, then the user's limits drop or repeat some. REQUIRES: searched
/// >= 1.
ChannelCounts channel_counts(const ChannelCountInput& input, const NcclSettings& settings);

}  // namespace fabricast
