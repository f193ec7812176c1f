#pragma once
// Symmetry inside nodes: when the GPUs of all nodes move on to the next rail, their NICs and the
// channels with them, the run is the same run. Then of channels that are each other's copies one is
// enough. Channels of NVLS and NVLSTree stay, but their heads move: there one head is enough. Why
// that is exact: as for Fold (fold.hpp), with rails for nodes.

#include <string>
#include <vector>

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

struct Rails {
  /// The parts of the partition, by class: copies in the order of the moves.
  std::vector<std::vector<std::uint32_t>> lanes;
  int copies = 1;                   ///< of each; 1 = nothing is folded
  std::vector<int> gpu;             ///< by local rank: the copy that is simulated
  std::vector<std::uint32_t> link;  ///< the same by link of a node,
  std::vector<std::uint32_t> rail;  ///< and by rail
  std::string why_not;              ///< "" = nothing stands against it

  /// The simulated copy of a link that the run uses.
  LinkId representative(const Cluster& cluster, LinkId link) const;
};

/// What is broken or slow, so that it has no copies, wherever it stands; "" = nothing.
std::string odd_part(const Cluster& cluster, const CollectiveRun& run);
/// Nothing is folded: each part of the partition stands for itself.
Rails unfolded_rails(const Partition& partition);
/// REQUIRES: Tree, NVLSTree or NVLS on one node.
Rails find_rails(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                 const Partition& partition);

}  // namespace fabricast
