#pragma once
// Symmetry of a run: when all of its nodes move so many places on, the run is the same run. Then
// nodes that are whole such steps apart do the same at the same time, and one of them is enough.
//
// Why that is exact. The step maps workers, proxies, connections and links onto others of their
// kind, and it moves each of them (no link is mapped onto itself), so that of one kind no two use
// one link or one proxy thread. Who goes first where several do is a matter of their numbers:
// copies are numbered one after another (Assembly), in full runs too, so that the order is the same
// at all copies. Channels of NVLS share instead (sim/machines/sharing.cpp), and numbers decide
// nothing. Hence each round of events in the full run is the folded one, copied.

#include <span>
#include <string>

#include "models/nccl/symmetry/lanes.hpp"
#include "models/nccl/symmetry/rails.hpp"
#include "models/nccl/symmetry/tree_mirror.hpp"

namespace fabricast {

struct Fold {
  int nodes = 1;       ///< places of members from a node to its copy
  int copies = 1;      ///< of each node, itself included; 1 = nothing is folded
  int step = 0;        ///< nodes of the cluster from one to its copy
  int first = 0;       ///< where the first step begins: whole leaves, or pods, if it goes over them
  Rails rails;         ///< of Tree, NVLS and NVLSTree
  TreeMirror mirror;   ///< of Tree and NVLSTree, likewise
  bool sharp = false;  ///< of NVLS and CollNet: nodes stand below one SHARP tree, wherever they are
  int leaves = 0;      ///< of that tree
  bool merges = false;  ///< of NVLS: GPUs of a node that copy alike copy as one
  Lanes lanes;          ///< of calls with an algorithm; of NVLS alike channels are merged
  std::string why_not;  ///< what stands against folding, or against folding more; "" = nothing

  /// Ranks that do as one of them does, itself included.
  int copies_in_all() const { return copies * rails.copies * mirror.copies(); }
  /// Of the nodes, the first so many.
  int nodes_simulated() const { return nodes / mirror.copies(); }
  /// The simulated copy of a link that the run uses.
  LinkId representative(const Cluster& cluster, LinkId link) const {
    if (sharp) return below_first(cluster, link);
    if (copies == 1) return mirror.representative(cluster, rails.representative(cluster, link));
    return cluster.moved_back(link, (cluster.first_node_of(link) - first) / step * step);
  }
  /// Links that are alike, the simulated one included.
  int copies_of(const Cluster& cluster, LinkId link) const {
    return sharp && cluster.is_trunk(link) ? leaves : copies_in_all();
  }

 private:
  LinkId below_first(const Cluster& cluster, LinkId link) const;
};

/// The most that can be folded. REQUIRES: as simulate().
Fold find_fold(const Cluster& cluster, const CollectiveRun& run);
/// The same of one call of a group, or of one whose parts are known.
Fold find_fold(const Cluster& cluster, const CollectiveRun& run, const Partition& partition);

/// A call and its parts; none of sends and receives.
struct FoldedCall {
  const CollectiveRun* run = nullptr;
  const Partition* partition = nullptr;
};
/// The shortest move by whole nodes that all of the calls have, or why there is none. REQUIRES:
/// equal nodes, not split.
Fold find_shift(const Cluster& cluster, std::span<const FoldedCall> calls);
/// Nothing stands for anything else.
Fold unfolded(const Members& members, const Partition& partition);

}  // namespace fabricast
