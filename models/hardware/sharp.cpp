#include "models/hardware/sharp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace fabricast {
namespace {

Bandwidth tree_rate(const FabricSwitchPart& part) {
  return {std::llround(static_cast<double>(part.port_rate.bytes_per_s) * part.sharp.line_rate)};
}

int trees_on(const std::map<std::uint32_t, int>& switches, std::uint32_t id) {
  const auto found = switches.find(id);
  return found == switches.end() ? 0 : found->second;
}

std::string switch_full(const FabricSwitchPart& part) {
  return fmt::format("{} aggregates for {} streaming {} at a time", part.name,
                     part.sharp.trees_per_switch,
                     part.sharp.trees_per_switch == 1 ? "tree" : "trees");
}

}  // namespace

SharpTree sharp_tree(const Cluster& cluster, std::span<const int> nodes, int nic) {
  assert(nodes.size() > 1);
  const VertexId vertex = cluster.node().nics()[static_cast<std::size_t>(nic)].vertex;
  SharpTree tree;
  for (const int node : nodes) {
    tree.nic_up.push_back(cluster.nic_to_leaf(node, vertex));
    tree.nic_down.push_back(cluster.leaf_to_nic(node, vertex));
    tree.leaves.push_back(cluster.leaf_of(node, vertex));
  }
  std::ranges::sort(tree.leaves);
  tree.leaves.erase(std::unique(tree.leaves.begin(), tree.leaves.end()), tree.leaves.end());
  if (tree.leaves.size() == 1) return tree;
  tree.spine = static_cast<std::uint32_t>(nic % cluster.uplinks());
  for (const std::uint32_t leaf : tree.leaves) {
    tree.leaf_up.push_back(cluster.leaf_to_spine(leaf, *tree.spine));
    tree.leaf_down.push_back(cluster.spine_to_leaf(leaf, *tree.spine));
  }
  return tree;
}

/// Links out of a switch have its port-to-port latency, which a level's has in it: once in the
/// root, and once each way in what is below.
Duration sharp_latency(const FabricConfig& fabric, const SharpTree& tree) {
  const Duration leaf = fabric.leaf.sharp.level_latency * 2;
  if (!tree.spine) return std::max(Duration{}, leaf - fabric.leaf.latency);
  const Duration spine = fabric.spine.sharp.level_latency * 2;
  return std::max(Duration{}, leaf + spine - fabric.leaf.latency * 2 - fabric.spine.latency);
}

Bandwidth sharp_rate(const FabricConfig& fabric, const SharpTree& tree) {
  const Bandwidth leaf = tree_rate(fabric.leaf);
  return tree.spine ? std::min(leaf, tree_rate(fabric.spine)) : leaf;
}

std::string SharpManager::admit(const SharpTree& tree) {
  std::string why = refusal(tree);
  if (!why.empty()) return why;
  ++trees_;
  for (const std::uint32_t leaf : tree.leaves) ++on_leaf_[leaf];
  if (tree.spine) ++on_spine_[*tree.spine];
  ports_.insert(tree.nic_up.begin(), tree.nic_up.end());
  ports_.insert(tree.leaf_up.begin(), tree.leaf_up.end());
  return {};
}

std::string SharpManager::refusal(const SharpTree& tree) const {
  const FabricSwitchPart& leaf = fabric_.leaf;
  const FabricSwitchPart& spine = tree.spine ? fabric_.spine : fabric_.leaf;
  for (const FabricSwitchPart* part : {&leaf, &spine}) {
    if (part->sharp.trees_per_subnet == 0)
      return fmt::format("{} switches do not aggregate", part->name);
  }
  const int most = std::min(leaf.sharp.trees_per_subnet, spine.sharp.trees_per_subnet);
  if (trees_ == most) return fmt::format("the subnet has {} streaming trees, all in use", most);
  for (const std::uint32_t id : tree.leaves)
    if (trees_on(on_leaf_, id) == leaf.sharp.trees_per_switch) return switch_full(leaf);
  if (tree.spine && trees_on(on_spine_, *tree.spine) == spine.sharp.trees_per_switch)
    return switch_full(spine);
  const auto taken = [this](LinkId port) { return ports_.contains(port); };
  if (std::ranges::any_of(tree.nic_up, taken) || std::ranges::any_of(tree.leaf_up, taken))
    return "a port serves one streaming tree at a time";
  return {};
}

std::string sharp_refusal(const Cluster& cluster, std::span<const int> nodes,
                          std::span<const int> nics) {
  if (nodes.size() < 2) return {};
  if (!cluster.has_two_tiers()) return "trees over more than leaves and spines are not modelled";
  SharpManager manager(cluster.fabric());
  for (const int nic : nics) {
    std::string why = manager.admit(sharp_tree(cluster, nodes, nic));
    if (!why.empty()) return why;
  }
  return {};
}

std::vector<int> all_nodes(const Cluster& cluster) {
  std::vector<int> nodes(static_cast<std::size_t>(cluster.nodes()));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

}  // namespace fabricast
