#pragma once
// N equal nodes on a fabric. Node links are not stored per node: link l of node n has the global id
// n * links_per_node + l, fabric links follow. Routes inside a node come from its NodeGraph. Where
// NVLink joins several servers into one node, the fabric still has each of them (a host) in a rack
// and on leaves of its own; reports count and name hosts, as users do.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/hardware/cluster/fabric_layout.hpp"
#include "models/hardware/node/node_graph.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// A kind of cable and its length without what racks add.
struct CableRun {
  Cable cable;
  double metres = 0;
};

/// Where racks stand: cables between racks grow by the way along the row and across rows. Nodes
/// fill racks in order. A switch stands in the rack of the middle one of the nodes below it.
struct RackPlan {
  double pitch_metres = 0;      ///< from a rack to the next in its row; 0 = distance does not count
  int racks_per_row = 0;        ///< 0 = one row
  double row_pitch_metres = 0;  ///< from a row to the next

  /// Along the row and across the rows.
  double metres(std::int64_t rack_a, std::int64_t rack_b) const;
};

/// How switches pick among ways of equal length.
enum class Routing : std::uint8_t {
  by_destination,  ///< static, D-mod-K
  ecmp,            ///< by a hash of (NIC, NIC, queue pair)
  adaptive,        ///< the least loaded
  spray            ///< by lot
};

/// Typed config of a fabric. Defaults: non-blocking rail-optimised two-tier fat-tree at NIC rate.
struct FabricConfig {
  enum class Kind : std::uint8_t { rail_optimised, fat_tree, dragonfly };
  Place place;
  std::string name = "default";
  Kind kind = Kind::rail_optimised;
  FabricSwitchPart leaf, spine, core;  ///< a dragonfly has leaves only
  int leaf_down = 0;                   ///< NIC ports per leaf
  double oversubscription = 1;         ///< leaf down capacity / up capacity, >= 1
  int pod_leaves = 0;                  ///< leaves of one plane in a pod; 0 = two tiers
  double core_oversubscription = 1;    ///< spine down capacity / up capacity, >= 1
  int group_switches = 0;              ///< dragonfly: switches in a group
  int global_ports = 0;                ///< dragonfly: of a switch, to other groups
  int nodes_per_rack = 0;
  RackPlan racks;
  double node_leaf_metres = 0, leaf_spine_metres = 0;
  Cable node_leaf_cable, leaf_spine_cable;
  CableRun spine_core;                        ///< three tiers
  CableRun local, global;                     ///< dragonfly: inside a group, between groups
  Routing routing = Routing::by_destination;  ///< of what names none
  bool dcqcn = true;  ///< Ethernet: NICs heed marks; else pauses alone hold them back
  /// Priorities of InfiniBand's service levels or of RoCE's traffic classes, the highest first; 0
  /// for what is not named.
  std::map<int, int> classes;
  bool is_default = false;  ///< nobody asked for it: reports say so
};

/// Seeds of the hash by tier of the switch that picks. With equal ones the tiers pick alike.
struct EcmpSeeds {
  std::uint64_t first = 1, second = 2;

  bool operator==(const EcmpSeeds&) const = default;
};

/// The fabric of a cluster that names none: rail-optimised two-tier fat-tree, non-blocking, ports
/// at the rate of the fastest NIC. Idealised: the radix of its switches is not checked.
FabricConfig default_fabric(const NodeGraph& node, const PartsCatalogue& parts);

/// One directed link of the whole cluster, as the simulator needs it.
struct ClusterLink {
  Bandwidth rate;
  Duration latency;
  std::int64_t lanes = 1;      ///< a slice takes one of so many equal cables
  bool out_of_switch = false;  ///< into a GPU or a NIC, out of a switch that many send through
};

class Cluster {
 public:
  /// Throws Error when nodes < 1, when the fabric cannot hold that many or the node does not fit
  /// it. Two nodes or more need a NIC.
  Cluster(NodeGraph node, int nodes, FabricConfig fabric);

  const NodeGraph& node() const { return node_; }
  const FabricConfig& fabric() const { return fabric_; }
  int nodes() const { return nodes_; }
  int hosts() const { return nodes_ * node_.trays(); }  ///< servers: one operating system each
  std::uint32_t links() const { return links_; }        ///< number of global links, pools included
  /// Cables come first: what users name, break and load.
  std::uint32_t cables() const { return pools_; }
  ClusterLink link(LinkId global) const;
  /// From now on the link has this rate: something is wrong with it.
  void set_rate(LinkId link, Bandwidth rate) { rates_[index_of(link)] = rate; }
  bool has_own_rates() const { return !rates_.empty(); }  ///< set_rate() was called
  /// From now on GPUs and NICs of this node have no GPUDirect RDMA: a driver is missing there, or
  /// they are farther apart than elsewhere. REQUIRES: not joined by NVLink with other servers.
  void withhold_gdr(int node) { without_gdr_.insert(node); }
  bool offers_gdr(int node) const { return !without_gdr_.contains(node); }
  bool offers_gdr_everywhere() const { return without_gdr_.empty(); }
  /// Between nodes, ports of NICs included.
  bool is_fabric_link(LinkId global) const { return index_of(global) >= nic_to_leaf_; }
  /// Between switches.
  bool is_trunk(LinkId global) const {
    return is_fabric_link(global) && link_from(global).is_switch && link_to(global).is_switch;
  }
  /// Adaptive routing takes the equal cables that a switch picks from as one link of so many lanes.
  /// Its ends are those of the first of them, its rate is that of all that work.
  bool is_pool(LinkId global) const { return index_of(global) >= pools_; }
  bool pools_cables() const { return links_ > pools_; }
  /// By host: "node1: gpu3 -> pcisw3 (PCIe gen5 x16)", "node1: mlx5_0 -> leaf0.1 (400 Gb/s)",
  /// "leaf0.1 -> spine3 (400 Gb/s)". Leaves are numbered plane.index, where a plane is a rail; a
  /// plain fat-tree has one plane and leaf1 is its second leaf. All leaves share the spines.
  std::string link_name(LinkId global) const;
  LinkId global(int node, LinkId local) const {
    return LinkId{static_cast<std::uint32_t>(node) * links_per_node_ + index_of(local)};
  }
  /// REQUIRES: no fabric link.
  const NodeLink& node_link(LinkId global) const {
    return node_.link(LinkId{index_of(global) % links_per_node_});
  }
  /// From NIC vertex to NIC vertex through the fabric: with adaptive routing over pools, else by
  /// destination (D-mod-K), so that all traffic to one NIC climbs through the same uplink of a
  /// leaf. The NICs must differ. First link leaves the NIC's port, last one enters the other's.
  std::vector<LinkId> fabric_route(int from_node, VertexId from_nic, int to_node,
                                   VertexId to_nic) const;
  /// The same by number, behind what is in `links`: for who asks for very many.
  void add_fabric_route(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                        std::vector<std::uint32_t>& links) const;
  /// Between the leaves of two NICs: how many shortest ways there are, and each of them. 1 when
  /// both hang on one leaf.
  std::uint32_t fabric_ways(int from_node, VertexId from_nic, int to_node, VertexId to_nic) const;
  std::vector<LinkId> fabric_way(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                                 std::uint32_t way) const;
  /// The way that ECMP picks for a queue pair: each tier hashes (NIC, NIC, queue pair).
  std::vector<LinkId> hashed_route(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                                   std::uint64_t queue_pair, const EcmpSeeds& seeds = {}) const;
  /// The same by number, behind what is in `links`.
  void add_hashed_route(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                        std::uint64_t queue_pair, const EcmpSeeds& seeds,
                        std::vector<std::uint32_t>& links) const;
  /// The ends of a fabric link: a NIC (by host and rail) or a switch.
  struct FabricEnd {
    bool is_switch = false;
    std::uint32_t host = 0, rail = 0;  ///< of a NIC; a host is a tray where NVLink joins them
    FabricSwitch which;
  };
  FabricEnd link_from(LinkId global) const;
  FabricEnd link_to(LinkId global) const;
  /// The NIC at an end that is no switch: its node, and its place there.
  struct PlacedNic {
    int node = 0;
    VertexId nic{};
  };
  PlacedNic nic_at(const FabricEnd& end) const;
  /// The cable between neighbours, its length with what racks add.
  CableRun cable(const FabricEnd& from, const FabricEnd& to) const;
  /// Of a NIC in its leaf: that of the slower of the two.
  Bandwidth port_rate(const FabricEnd& nic) const;
  /// Links from here on belong to the fabric, not to a node.
  LinkId first_fabric_link() const { return LinkId{nic_to_leaf_}; }
  /// REQUIRES: the node has a NIC.
  const FabricLayout& layout() const { return *layout_; }
  const FabricSwitchPart& switch_part(SwitchTier tier) const;
  // Single links, for what is no route from NIC to NIC.
  std::uint32_t leaf_of(int node, VertexId nic) const;
  LinkId nic_to_leaf(int node, VertexId nic) const;
  LinkId leaf_to_nic(int node, VertexId nic) const;
  /// A fat-tree without a third tier, or with a single pod.
  bool has_two_tiers() const;
  /// Between two leaves, as in FabricLayout.
  std::vector<LinkId> trunks_of_way(std::uint32_t from_leaf, std::uint32_t to_leaf,
                                    std::uint32_t way) const;
  /// The number of the leaf that a node's first NIC is plugged into, in its plane.
  int leaf_number(int node) const { return node / nodes_per_leaf_; }
  /// How many nodes further the fabric looks the same: those of a leaf, or of a pod.
  int nodes_per_leaf() const { return nodes_per_leaf_; }
  int nodes_per_pod() const { return nodes_per_leaf_ * fabric_.pod_leaves; }  ///< 0 = no pods
  /// The link that plays the same part so many hosts further back, whole nodes of them where NVLink
  /// joins hosts; of switches: whole leaves (pods) back. REQUIRES: it exists; no dragonfly, unless
  /// the link belongs to a node or its NICs.
  LinkId moved_back(LinkId link, int nodes) const;
  /// The first host of those below the switch at the lower end of a link, or of the link's own
  /// node.
  int first_node_of(LinkId link) const;
  /// One line for reports: kind, leaves, spines, oversubscription, and what was assumed.
  std::string fabric_summary() const;

  int planes() const { return planes_; }  ///< rails, or 1; 0 without NICs
  int leaves_per_plane() const { return leaves_per_plane_; }
  int uplinks() const { return uplinks_; }  ///< of a leaf; 0 = one leaf, or a dragonfly

 private:
  struct Joined;  ///< two ports that are to be joined
  std::uint32_t nics_per_host() const { return static_cast<std::uint32_t>(node_.nics_per_tray()); }
  std::uint32_t leaves() const { return static_cast<std::uint32_t>(planes_ * leaves_per_plane_); }
  int spread_leaves();
  void lay_out(int leaves_all);
  void lay_out_dragonfly();
  std::uint32_t core_links() const;
  void check_radix() const;
  FabricPort port_of(std::uint32_t port_number) const;
  ClusterLink healthy_link(LinkId global) const;
  FabricTrunk trunk(std::uint32_t global) const;
  std::uint32_t port_number(int node, VertexId nic) const;
  Joined joined(int from_node, VertexId from_nic, int to_node, VertexId to_nic) const;
  void add_route(const Joined& ends, std::uint32_t way, std::vector<std::uint32_t>& links) const;
  std::vector<LinkId> route(const Joined& ends, std::uint32_t way) const;
  FabricEnd nic_end(std::uint32_t id) const;
  std::int64_t rack_of(const FabricEnd& end) const;

  NodeGraph node_;
  int nodes_;
  FabricConfig fabric_;
  std::uint32_t links_per_node_ = 0;
  std::map<std::uint32_t, Bandwidth> rates_;  ///< of links that are not as they should be
  std::set<int> without_gdr_;                 ///< nodes
  int leaves_per_plane_ = 0, planes_ = 0, uplinks_ = 0, nodes_per_leaf_ = 1;
  LayoutHolder layout_;
  // Numbers of the first links of each kind; node links come before them.
  std::uint32_t nic_to_leaf_ = 0, leaf_to_nic_ = 0, trunks_ = 0, pools_ = 0, links_ = 0;
};

}  // namespace fabricast
