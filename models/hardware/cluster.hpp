#pragma once
// N equal nodes on a fabric. Node links are not stored per node: link l of node n has the global id
// n * links_per_node + l, fabric links follow. Routes inside a node come from its NodeGraph.

#include <cstdint>
#include <string>
#include <vector>

#include "models/hardware/node_graph.hpp"

namespace fabricast {

/// Typed config of a fabric. Defaults: non-blocking rail-optimised two-tier fat-tree at NIC rate.
struct FabricConfig {
  enum class Kind : std::uint8_t { rail_optimised, fat_tree };
  std::string name = "default";
  Kind kind = Kind::rail_optimised;
  FabricSwitchPart leaf, spine;
  int leaf_down = 32;            ///< NIC ports per leaf
  double oversubscription = 1;   ///< leaf down capacity / up capacity, >= 1
  int nodes_per_rack = 4;
  double node_leaf_metres = 5, leaf_spine_metres = 30;
  Cable node_leaf_cable, leaf_spine_cable;
  bool is_default = false;       ///< nobody asked for it: reports say so
};

/// One directed link of the whole cluster, as the simulator needs it.
struct ClusterLink {
  Bandwidth rate;
  Duration latency;
};

class Cluster {
 public:
  /// REQUIRES: nodes >= 1. Throws Error when the fabric cannot hold that many.
  Cluster(NodeGraph node, int nodes, FabricConfig fabric);

  const NodeGraph& node() const { return node_; }
  const FabricConfig& fabric() const { return fabric_; }
  int nodes() const { return nodes_; }
  std::uint32_t links() const;                         ///< number of global links
  ClusterLink link(LinkId global) const;
  /// "node1: gpu3 -> pcisw3 (PCIe gen5 x16)", "leaf0.1 -> spine0.3 (400 Gb/s)"
  std::string link_name(LinkId global) const;
  LinkId global(int node, LinkId local) const {
    return LinkId{static_cast<std::uint32_t>(node) * links_per_node_ + index_of(local)};
  }
  /// From NIC vertex to NIC vertex through the fabric: static routing by destination (D-mod-K).
  /// REQUIRES: the nodes differ. First link leaves the NIC's port, last one enters the other's.
  std::vector<LinkId> fabric_route(int from_node, VertexId from_nic, int to_node,
                                   VertexId to_nic) const;
  /// One line for reports: kind, leaves, spines, oversubscription, and what was assumed.
  std::string fabric_summary() const;

 private:
  NodeGraph node_;
  int nodes_;
  FabricConfig fabric_;
  std::uint32_t links_per_node_ = 0;
  // Derived shape of the fabric; see cluster.cpp.
  int leaves_per_plane_ = 0, planes_ = 0, uplinks_ = 0;
};

}  // namespace fabricast
