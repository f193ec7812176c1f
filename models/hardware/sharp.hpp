#pragma once
// SHARP: switches that add up what comes from below and hand the sum down again. Says over which
// links and switches a tree goes, what that adds to their latency, and whether the switches have a
// tree left. One tree per NIC number of a node; its root is the leaf, or the spine of that number
// where there are several leaves.
// Facts: NVIDIA SHARP documentation rev 3.13.0 (limits); which spine is the root is assumed.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/hardware/cluster.hpp"

namespace fabricast {

struct SharpTree {
  std::vector<std::uint32_t> leaves;   ///< each once, ascending
  std::optional<std::uint32_t> spine;  ///< the root; none: the only leaf is it
  /// Links of each step, all crossed side by side. Those of leaves are empty with one leaf.
  std::vector<LinkId> nic_up, leaf_up, leaf_down, nic_down;

  constexpr int levels() const { return spine ? 2 : 1; }
};

/// Of NIC `nic` (its index) of all these nodes. REQUIRES: two nodes or more, a fabric of two tiers.
SharpTree sharp_tree(const Cluster& cluster, std::span<const int> nodes, int nic);

/// What aggregation adds to the latencies of the links, up and down together.
Duration sharp_latency(const FabricConfig& fabric, const SharpTree& tree);

/// What a tree streams at most.
Bandwidth sharp_rate(const FabricConfig& fabric, const SharpTree& tree);

/// The aggregation manager of a subnet: gives trees to jobs.
class SharpManager {
 public:
  /// The fabric outlives the manager.
  explicit SharpManager(const FabricConfig& fabric) : fabric_(fabric) {}

  /// Gives it out, or says in a sentence why not.
  std::string admit(const SharpTree& tree);

 private:
  std::string refusal(const SharpTree& tree) const;

  const FabricConfig& fabric_;
  int trees_ = 0;
  std::map<std::uint32_t, int> on_leaf_, on_spine_;
  std::set<LinkId> ports_;  ///< by the link that comes in from below
};

/// Why a job on these nodes cannot have a tree for each of these NICs; empty when it can.
std::string sharp_refusal(const Cluster& cluster, std::span<const int> nodes,
                          std::span<const int> nics);

/// All nodes of a cluster.
std::vector<int> all_nodes(const Cluster& cluster);

}  // namespace fabricast
