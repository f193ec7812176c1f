#pragma once
// Where hosts of a tree sit in a simulated cluster. Hosts of one leaf are alike, and so are leaves
// of one pod: a job's leaves are numbered as its ranks come to them, its hosts within a leaf
// likewise. So two allocations that differ in nothing but such numbers are one. Where NVLink joins
// hosts, NCCL takes those of a job in one domain for one node: its domains are numbered likewise.

#include <map>
#include <string>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/io/hosts/host_tree.hpp"
#include "models/studies/placement/host_nodes.hpp"

namespace fabricast {

/// Where a job's hosts sit.
struct Seats {
  std::vector<int> nodes;  ///< of the cluster, in the order in which ranks come to them
  int trays = 1;           ///< hosts of each node that are the job's
  /// By rank of host: node x trays of a node + tray. Empty where domains hold unequally many, and
  /// all are taken to hold as many as the least of them.
  std::vector<int> hosts;

  /// A communicator of all ranks does not see which rank is where in a node.
  bool is_alike(const Seats& other) const { return nodes == other.nodes && trays == other.trays; }
};

/// Hosts of a job by number in the tree, in the order of ranks.
struct JobHosts {
  std::vector<int> hosts;
  bool joins = true;  ///< NCCL is let join those of an NVLink domain
};

/// Where several jobs sit on one cluster.
struct Seating {
  std::vector<Seats> jobs;
  int trays = 1;             ///< of a node of the cluster: those of the job with most
  int domains_per_leaf = 0;  ///< that the cluster has room for; 0 = NVLink joins no hosts

  bool is_alike(const Seating& other) const;
};

/// Nodes of a cluster are equal. Of a job whose domains hold unequally many hosts:
enum class Uneven : std::uint8_t {
  as_least,  ///< each holds as many as the least one, whose NICs and NVLinks set the pace
  in_pieces  ///< domains fall into equal pieces that share no NVLink
};

class SeatPlan {
 public:
  /// `fabric` as it was asked for; where nobody asked for it its leaves are made to hold those of
  /// the tree. Throws Error where a leaf of the tree has more hosts than one of the fabric, a pod
  /// more leaves, an NVLink domain more hosts than a rack has trays, or where NVLink joins hosts
  /// and the tree does not say which. `file`: the tree's. `tree`, `nodes` outlive it.
  SeatPlan(const HostTree& tree, const std::string& file, HostNodes& nodes, FabricConfig fabric);

  const HostTree& tree() const { return tree_; }
  HostNodes& nodes() const { return nodes_; }
  const std::vector<std::string>& notes() const { return notes_; }

  int leaf_of(int host) const { return leaf_of_[static_cast<std::size_t>(host)]; }
  const std::string& leaf_name(int leaf) const {
    return leaf_names_[static_cast<std::size_t>(leaf)];
  }
  /// What a job should have its hosts close together in: NVLink domains, else leaves.
  bool by_domain() const { return !domain_names_.empty(); }
  int group_of(int host) const {
    return by_domain() ? domain_of_[static_cast<std::size_t>(host)] : leaf_of(host);
  }
  const std::string& group_name(int group) const {
    return by_domain() ? domain_names_[static_cast<std::size_t>(group)] : leaf_name(group);
  }
  /// Of the group: the leaf of a domain, the pod of a leaf.
  int parent_of(int group) const {
    return by_domain() ? leaf_of_domain_[static_cast<std::size_t>(group)] : pod_of(group);
  }

  /// Of one job, or of several side by side.
  Seating seat(const std::vector<JobHosts>& jobs, Uneven uneven = Uneven::as_least) const;
  Seating seat(const std::vector<int>& hosts) const { return seat({JobHosts{hosts, true}}); }
  /// That holds these.
  Cluster cluster(const Seating& seating) const;
  /// The fabric below hosts of these, as it was asked for: one line.
  std::string fabric_summary(const std::vector<int>& hosts) const;

 private:
  int pod_of(int leaf) const { return pod_of_[static_cast<std::size_t>(leaf)]; }
  void find_leaves();
  void fit_leaves(const std::string& file);
  void fit_pods(const std::string& file);
  void find_domains(const std::string& file);
  void join_leaves();
  int ports_of_host() const;  ///< on a leaf
  FabricConfig with_leaves_of(int domains, int trays) const;
  std::vector<int> host_seats(const std::vector<int>& hosts) const;
  Seating seat_domains(const std::vector<JobHosts>& jobs, Uneven uneven) const;

  const HostTree& tree_;
  HostNodes& nodes_;
  FabricConfig fabric_;
  int hosts_per_leaf_ = 1, leaves_per_pod_ = 0;  ///< 0 = no pods
  std::vector<int> leaf_of_, pod_of_;
  std::vector<std::string> leaf_names_, pod_names_;
  // With NVLink domains: by host, by domain, by leaf. Leaves that share a domain are joined.
  std::vector<int> domain_of_, leaf_of_domain_, joined_leaf_;
  double leaves_joined_ = 1;  ///< in the mean
  std::vector<std::string> domain_names_;
  std::vector<std::string> notes_;
};

}  // namespace fabricast
