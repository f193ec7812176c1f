#pragma once
// Of a run, which ranks, channels and links do the same at the same time, so that one of them is
// enough: the moves that it has (move.hpp), and channels that share links (lanes.hpp).

#include <string>
#include <vector>

#include "models/nccl/symmetry/lanes.hpp"
#include "models/nccl/symmetry/move_finders.hpp"

namespace fabricast {

class Symmetry {
 public:
  Symmetry() = default;
  /// Nothing is alike.
  Symmetry(const Members& members, const Partition& partition);

  /// Ranks that do as one of them does, itself included.
  int copies() const;
  /// Of all that are alike, the place, rank or link that is simulated. REQUIRES: the run uses it.
  BlockPlace representative(BlockPlace place) const;
  int representative(int rank) const;
  LinkId representative(const Cluster& cluster, LinkId link) const;
  /// Links that are alike, this one included.
  int copies_of(const Cluster& cluster, LinkId link) const;
  /// Channels in this one's place, itself included.
  std::uint32_t copies_of(std::uint32_t lane) const { return lanes.copies[lane]; }
  /// The place and its copies by moves, this one first.
  void list_alike(BlockPlace place, std::vector<BlockPlace>& out) const;

  /// Of the nodes the first so many are simulated, and of so many rails one.
  int nodes() const;
  int rails() const;
  /// Links that belong to nodes that no move comes to.
  bool is_aside(const Cluster& cluster, LinkId link) const;

  /// Each leaves alone what the others do. One may know only links that those before it leave.
  std::vector<Move> moves;
  Lanes lanes;               ///< channels that take the same ways; of NVLS
  bool merges_gpus = false;  ///< of NVLS: GPUs of a node that copy alike copy as one
  /// Of each loop of a ring only the first so many chunks are simulated, on all ranks; 0 = all.
  /// Such a part of the run has no wait that the run has not, so it takes no longer.
  std::uint32_t chunks = 0;
  std::string why_not;  ///< what stands against folding, or against folding more; "" = nothing

 private:
  int nodes_ = 1;
};

/// All that a call has. REQUIRES: as simulate().
Symmetry find_symmetry(const Cluster& cluster, const CollectiveRun& run);
/// The same of one call of a group, or of one whose parts are known.
Symmetry find_symmetry(const Cluster& cluster, const CollectiveRun& run,
                       const Partition& partition);

}  // namespace fabricast
