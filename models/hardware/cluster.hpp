#pragma once
// N equal nodes on a fabric. Node links are not stored per node: link l of node n has the global id
// n * links_per_node + l, fabric links follow. Routes inside a node come from its NodeGraph.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/hardware/node_graph.hpp"
#include "sim/error.hpp"

namespace fabricast {

/// Typed config of a fabric. Defaults: non-blocking rail-optimised two-tier fat-tree at NIC rate.
struct FabricConfig {
  enum class Kind : std::uint8_t { rail_optimised, fat_tree };
  Place place;
  std::string name = "default";
  Kind kind = Kind::rail_optimised;
  FabricSwitchPart leaf, spine;
  int leaf_down = 0;            ///< NIC ports per leaf
  double oversubscription = 1;  ///< leaf down capacity / up capacity, >= 1
  int nodes_per_rack = 0;
  double node_leaf_metres = 0, leaf_spine_metres = 0;
  Cable node_leaf_cable, leaf_spine_cable;
  bool is_default = false;  ///< nobody asked for it: reports say so
};

/// The fabric of a cluster that names none: rail-optimised two-tier fat-tree, non-blocking, ports
/// at the rate of the fastest NIC. Idealised: the radix of its switches is not checked.
FabricConfig default_fabric(const NodeGraph& node, const PartsCatalogue& parts);

/// One directed link of the whole cluster, as the simulator needs it.
struct ClusterLink {
  Bandwidth rate;
  Duration latency;
};

class Cluster {
 public:
  /// Throws Error when nodes < 1, when the fabric cannot hold that many or the node does not fit
  /// it. Two nodes or more need a NIC.
  Cluster(NodeGraph node, int nodes, FabricConfig fabric);

  const NodeGraph& node() const { return node_; }
  const FabricConfig& fabric() const { return fabric_; }
  int nodes() const { return nodes_; }
  std::uint32_t links() const { return links_; }  ///< number of global links
  ClusterLink link(LinkId global) const;
  /// From now on the link has this rate: something is wrong with it.
  void set_rate(LinkId link, Bandwidth rate) { rates_[index_of(link)] = rate; }
  /// Between nodes, ports of NICs included.
  bool is_fabric_link(LinkId global) const { return index_of(global) >= nic_to_leaf_; }
  /// "node1: gpu3 -> pcisw3 (PCIe gen5 x16)", "node1: mlx5_0 -> leaf0.1 (400 Gb/s)",
  /// "leaf0.1 -> spine3 (400 Gb/s)". Leaves are numbered plane.index, where a plane is a rail; a
  /// plain fat-tree has one plane and leaf1 is its second leaf. All leaves share the spines.
  std::string link_name(LinkId global) const;
  LinkId global(int node, LinkId local) const {
    return LinkId{static_cast<std::uint32_t>(node) * links_per_node_ + index_of(local)};
  }
  /// From NIC vertex to NIC vertex through the fabric: static routing by destination (D-mod-K),
  /// so all traffic to one NIC climbs through the same uplink of a leaf. The NICs must differ.
  /// First link leaves the NIC's port, last one enters the other's.
  std::vector<LinkId> fabric_route(int from_node, VertexId from_nic, int to_node,
                                   VertexId to_nic) const;
  /// One line for reports: kind, leaves, spines, oversubscription, and what was assumed.
  std::string fabric_summary() const;

  int planes() const { return planes_; }  ///< rails, or 1; 0 without NICs
  int leaves_per_plane() const { return leaves_per_plane_; }
  int uplinks() const { return uplinks_; }  ///< per leaf = spines; 0 = one leaf

 private:
  struct Port {  ///< where a NIC is plugged in
    std::uint32_t leaf, port;
  };
  struct FabricLink;  ///< a fabric link taken apart
  std::uint32_t nics_per_node() const { return static_cast<std::uint32_t>(node_.nics().size()); }
  std::uint32_t leaves() const { return static_cast<std::uint32_t>(planes_ * leaves_per_plane_); }
  int spread_leaves();
  void check_radix() const;
  Port port_of(std::uint32_t node, std::uint32_t rail) const;
  std::uint32_t rail_of(VertexId nic) const;
  FabricLink fabric_link(LinkId global) const;
  ClusterLink healthy_link(LinkId global) const;
  std::string leaf_name(std::uint32_t leaf) const;

  NodeGraph node_;
  int nodes_;
  FabricConfig fabric_;
  std::uint32_t links_per_node_ = 0;
  std::map<std::uint32_t, Bandwidth> rates_;  ///< of links that are not as they should be
  int leaves_per_plane_ = 0, planes_ = 0, uplinks_ = 0;
  // Numbers of the first links of each kind; node links come before them.
  std::uint32_t nic_to_leaf_ = 0, leaf_to_nic_ = 0, leaf_to_spine_ = 0, spine_to_leaf_ = 0,
                links_ = 0;
};

}  // namespace fabricast
