#pragma once
// Where hosts of a tree sit in a simulated cluster. Hosts of one leaf are alike, and so are leaves
// of one pod: a job's leaves are numbered as its ranks come to them, its hosts within a leaf
// likewise. So two allocations that differ in nothing but such numbers are one.

#include <map>
#include <string>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/io/hosts/host_tree.hpp"

namespace fabricast {

class SeatPlan {
 public:
  /// `node` and `fabric` as they were asked for; where nobody asked for the fabric its leaves are
  /// made to hold those of the tree. Throws Error where a leaf of the tree has more hosts than one
  /// of the fabric, or a pod more leaves. `file`: the tree's.
  SeatPlan(const HostTree& tree, const std::string& file, const NodeGraph& node,
           FabricConfig fabric);

  const HostTree& tree() const { return tree_; }
  const NodeGraph& node() const { return node_; }
  const FabricConfig& fabric() const { return fabric_; }
  const std::vector<std::string>& notes() const { return notes_; }

  int leaves() const { return static_cast<int>(leaf_names_.size()); }
  int leaf_of(int host) const { return leaf_of_[static_cast<std::size_t>(host)]; }
  int pod_of(int leaf) const { return pod_of_[static_cast<std::size_t>(leaf)]; }
  const std::string& leaf_name(int leaf) const {
    return leaf_names_[static_cast<std::size_t>(leaf)];
  }

  /// Nodes of a cluster, by rank of host; several jobs one after another.
  std::vector<int> seats(const std::vector<int>& hosts) const;
  /// That holds these seats.
  Cluster cluster(const std::vector<int>& seats) const;

 private:
  void find_leaves();
  void fit_leaves(const std::string& file);
  void fit_pods(const std::string& file);

  const HostTree& tree_;
  const NodeGraph& node_;
  FabricConfig fabric_;
  int hosts_per_leaf_ = 1, leaves_per_pod_ = 0;  ///< 0 = no pods
  std::vector<int> leaf_of_, pod_of_;
  std::vector<std::string> leaf_names_, pod_names_;
  std::vector<std::string> notes_;
};

}  // namespace fabricast
