#pragma once
// Where ranks are, and how widely a group of them lies over a cluster: over how many nodes, and
// over how many switches on the way from one to the next.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// Ranks r, r + stride, r + 2 stride, ...: one of many groups side by side that cover the job. With
/// `outer`, so many of them `outer_stride` apart, which is more than they span. With `along`, each
/// run of `size` among so many: pairs of neighbours, for two.
struct RankGroup {
  int size = 1;
  int stride = 1;
  int outer = 1;
  int outer_stride = 1;
  int along = 0;  ///< 0 = size
  int job = 0;    ///< all ranks; 0 = not known: then it lies on the first nodes
  int ranks() const { return size * outer; }
  auto operator<=>(const RankGroup&) const = default;
};

/// GPUs that ranks are given, one after another: of hosts `first` to `last`, or of all hosts of
/// racks `first` to `last`.
struct RankRange {
  bool racks = false;
  int first = 0, last = 0;
  int first_gpu = 0, last_gpu = -1;  ///< of each host; -1 = to its last one
  bool operator==(const RankRange&) const = default;
};

/// "12", "0-7" (hosts), "3:4", "3:0-3" (GPUs of a host), "rack2", "rack0-3". Throws Error.
RankRange parse_rank_range(const std::string& text);
std::string to_text(const RankRange& range);

/// By rank: node x GPUs per node + GPU. Empty: rank r is the r-th GPU of the job.
using RankSlots = std::vector<int>;

/// Throws Error unless each of `gpus` ranks gets a GPU of its own.
RankSlots place_ranks(const std::vector<RankRange>& ranges, const Cluster& cluster,
                      int gpus_per_node, int gpus);

/// A group as far as its communication depends on where it lies, and who else lies there.
struct GroupShape {
  int nodes = 1, gpus = 1;  ///< GPUs of each node
  int spread = 0;           ///< number of its list of nodes; 0 = the first ones
  int sides = 0;            ///< number of sides(); 0 = alone, on the first GPUs
  auto operator<=>(const GroupShape&) const = default;
};

/// The GPUs that groups side by side have of each of their nodes, by group: in a node of eight,
/// {0}, {1}, ... {7} where the groups cross nodes with a GPU of each.
using Sides = std::vector<std::vector<int>>;

/// The group that is spread most widely stands for all: over the most nodes, then pods, then
/// leaves. Its nodes are numbered anew, as few as will do: a leaf (pod) is a new one wherever the
/// next rank's differs. Those on the same nodes do the same at the same time: its sides.
class GroupShapes {
 public:
  GroupShapes(const Cluster& cluster, int gpus_per_node)
      : cluster_(cluster), gpus_per_node_(gpus_per_node) {}

  void place(RankSlots slots);
  const RankSlots& slots() const { return slots_; }
  const GroupShape& of(const RankGroup& group);
  /// The nodes of a shape, or its first `count`.
  std::vector<int> nodes(const GroupShape& shape, int count) const;
  /// The groups on these nodes, the shape's own first. Where a job does not divide a node evenly
  /// the GPUs that are left are taken for groups of the same size. Of hosts that NVLink joins,
  /// those that share hosts with the first.
  Sides sides(const GroupShape& shape) const;
  /// Whether some group has other GPUs of one node than of the next: it is taken for one with the
  /// same.
  bool mixes_gpus() const { return mixes_gpus_; }
  /// Groups (or pairs of neighbours), of all, whose ranks lie in different nodes or racks.
  enum class Room : std::uint8_t { node, rack };
  struct Crossing {
    int groups = 0, of = 0;
  };
  /// Of racks none where the fabric says none.
  Crossing crossings(const RankGroup& group, Room room) const;

 private:
  struct Lying;
  int slot(int rank) const {
    return slots_.empty() ? rank : slots_[static_cast<std::size_t>(rank)];
  }
  std::vector<int> first_ranks(const RankGroup& group) const;
  int ranks_of_job(const RankGroup& group) const;
  std::set<int> gpus_of_job(const RankGroup& group, int node) const;
  Lying lying(const RankGroup& group, int first) const;
  Lying compact(const RankGroup& group) const;
  Lying widest(const RankGroup& group);
  std::vector<int> renumbered(const std::vector<int>& nodes) const;
  Sides beside(const RankGroup& group, const Lying& some) const;
  bool is_flat(const RankGroup& group) const;
  /// Leaves and pods are counted.
  bool has_leaves() const { return cluster_.planes() > 0 && cluster_.node().trays() == 1; }

  const Cluster& cluster_;
  int gpus_per_node_;
  RankSlots slots_;
  std::map<RankGroup, GroupShape> known_;
  std::vector<std::vector<int>> spreads_;  ///< from number 1 on
  std::vector<Sides> sides_;               ///< likewise
  bool mixes_gpus_ = false;
};

}  // namespace fabricast
