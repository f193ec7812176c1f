#pragma once
// SHARP: switches that add up what comes from below and hand the sum down again. Says over which
// links and switches a tree goes, what that adds to their latency, and whether the switches have a
// tree left. One tree per NIC number of a node; its root is the leaf, else the spine of that number
// of the only pod, else a core above the spines of that number.
// Facts: NVIDIA SHARP documentation rev 3.13.0 (limits); which spine or core is the root is
// assumed.

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

struct SharpTree {
  using Links = std::vector<LinkId>;

  /// Switches that add up, by level from the leaves to the root; each once, leaves ascending.
  std::vector<std::vector<FabricSwitch>> switches;
  Links nic_up, nic_down;  ///< of each node
  /// From each leaf to the root and back, by its place among the leaves. Empty with one leaf.
  std::vector<Links> leaf_up, leaf_down;
  /// The same links by step, each once: those of a step are crossed side by side.
  std::vector<Links> trunks_up, trunks_down;

  std::size_t levels() const { return switches.size(); }
  std::size_t place_of(std::uint32_t leaf) const;
};

/// Of NIC `nic` (its index) of all these nodes. REQUIRES: two nodes or more, a fat-tree.
SharpTree sharp_tree(const Cluster& cluster, std::span<const int> nodes, int nic);

/// What aggregation adds to the latencies of the links, up and down together.
Duration sharp_latency(const Cluster& cluster, const SharpTree& tree);

/// What a tree streams at most.
Bandwidth sharp_rate(const Cluster& cluster, const SharpTree& tree);

/// The aggregation manager of a subnet: gives trees to jobs.
class SharpManager {
 public:
  /// The cluster outlives the manager.
  explicit SharpManager(const Cluster& cluster) : cluster_(cluster) {}

  /// Gives it out, or says in a sentence why not.
  std::string admit(const SharpTree& tree);

 private:
  std::string refusal(const SharpTree& tree) const;

  const Cluster& cluster_;
  int trees_ = 0;
  std::map<std::pair<SwitchTier, std::uint32_t>, int> on_switch_;
  std::set<LinkId> ports_;  ///< by the link that comes in from below
};

/// Why a job on these nodes cannot have a tree for each of these NICs; empty when it can.
std::string sharp_refusal(const Cluster& cluster, std::span<const int> nodes,
                          std::span<const int> nics);

/// All nodes of a cluster.
std::vector<int> all_nodes(const Cluster& cluster);

}  // namespace fabricast
