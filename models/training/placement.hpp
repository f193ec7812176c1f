#pragma once
// Where ranks are, and how widely a group of them lies over a cluster: over how many nodes, and
// over how many switches on the way from one to the next.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/hardware/cluster.hpp"

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

/// A group as far as its communication depends on where it lies.
struct GroupShape {
  int nodes = 1, gpus = 1;  ///< GPUs of each node
  int spread = 0;           ///< number of its list of nodes; 0 = the first ones
  auto operator<=>(const GroupShape&) const = default;
};

/// Of the groups side by side the one that is spread most widely stands for all: over the most
/// nodes, then pods, then leaves. Its nodes are numbered anew, as few as will do: a leaf (pod) is
/// a new one wherever the next rank's differs.
class GroupShapes {
 public:
  GroupShapes(const Cluster& cluster, int gpus_per_node)
      : cluster_(cluster), gpus_per_node_(gpus_per_node) {}

  void place(RankSlots slots);
  const RankSlots& slots() const { return slots_; }
  const GroupShape& of(const RankGroup& group);
  /// The nodes of a shape, or its first `count`.
  std::vector<int> nodes(const GroupShape& shape, int count) const;
  /// Whether some group has other GPUs of one node than of the next: it is taken for one with the
  /// same.
  bool mixes_gpus() const { return mixes_gpus_; }
  /// Pairs of neighbours, of all, whose nodes stand in different racks.
  struct Crossing {
    int pairs = 0, of = 0;
  };
  Crossing rack_crossings(const RankGroup& pairs) const;

 private:
  struct Lying;
  int slot(int rank) const {
    return slots_.empty() ? rank : slots_[static_cast<std::size_t>(rank)];
  }
  std::vector<int> first_ranks(const RankGroup& group) const;
  Lying lying(const RankGroup& group, int first);
  GroupShape compact(const RankGroup& group) const;
  GroupShape widest(const RankGroup& group);
  int number_of(std::vector<int> nodes);
  bool is_flat(const RankGroup& group) const;

  const Cluster& cluster_;
  int gpus_per_node_;
  RankSlots slots_;
  std::map<RankGroup, GroupShape> known_;
  std::vector<std::vector<int>> spreads_;  ///< from number 1 on
  bool mixes_gpus_ = false;
};

}  // namespace fabricast
