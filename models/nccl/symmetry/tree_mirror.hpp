#pragma once
// Symmetry between the two trees of Tree or NVLSTree: over an even number of nodes the second tree
// is the first one with nodes in reverse order. So a node on one tree does as the node that stands
// where it stands from the other end does on the other tree, and half of the nodes are enough. Why
// that is exact: as for Fold (fold.hpp), with this move for the step.

#include <map>
#include <string>
#include <vector>

#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/symmetry/rails.hpp"

namespace fabricast {

struct TreeMirror {
  bool folds = false;
  std::vector<std::uint32_t> lane;  ///< by part of the partition: its counterpart on the other tree
  std::map<int, int> node;  ///< of the cluster, of the second half: its image in the first one
  std::map<std::uint32_t, std::uint32_t> trunk;  ///< link between switches to the one simulated
  std::string why_not;                           ///< "" = nothing stands against it

  int copies() const { return folds ? 2 : 1; }
  /// The same GPU of the node that stands where this one stands from the other end.
  static int mirrored(int rank, int gpus, int nodes) {
    return (nodes - 1 - rank / gpus) * gpus + rank % gpus;
  }
  /// The simulated link for a link that the run uses.
  LinkId representative(const Cluster& cluster, LinkId link) const;
};

/// REQUIRES: Tree or NVLSTree; `rails` are those of the run.
TreeMirror find_mirror(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                       const Partition& partition, const Rails& rails);

}  // namespace fabricast
