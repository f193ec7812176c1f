#include "models/hardware/cluster/sharp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

Bandwidth tree_rate(const FabricSwitchPart& part) {
  return {std::llround(static_cast<double>(part.port_rate.bytes_per_s) * part.sharp.line_rate)};
}

/// One of each way from a leaf to the root and back.
struct Climb {
  SharpTree::Links up, down;
};

/// By the spine of this number, and by a core above it where `leaf` and `other` are in two pods.
Climb climb(const Cluster& cluster, std::uint32_t leaf, std::uint32_t other, std::uint32_t number) {
  std::uint32_t way = 0, stride = 1;
  for (const std::uint32_t choices : cluster.layout().choices(leaf, other)) {
    way += stride * (number % choices);
    number /= choices;
    stride *= choices;
  }
  const SharpTree::Links there = cluster.trunks_of_way(leaf, other, way);
  const SharpTree::Links back = cluster.trunks_of_way(other, leaf, way);
  const auto half = static_cast<std::ptrdiff_t>(there.size() / 2);
  return {{there.begin(), there.begin() + half}, {back.begin() + half, back.end()}};
}

/// Leaves of a pod have neighbouring numbers: of all others, the first or the last is furthest.
Climb climb_to_root(const Cluster& cluster, const std::vector<FabricSwitch>& leaves,
                    std::uint32_t leaf, std::uint32_t number) {
  Climb best;
  for (const FabricSwitch& other : {leaves.front(), leaves.back()}) {
    if (other.index == leaf) continue;
    Climb found = climb(cluster, leaf, other.index, number);
    if (found.up.size() > best.up.size()) best = std::move(found);
  }
  return best;
}

/// Step `step` of all ways, each link once.
SharpTree::Links side_by_side(const std::vector<SharpTree::Links>& ways, std::size_t step) {
  SharpTree::Links out;
  for (const SharpTree::Links& way : ways) out.push_back(way[step]);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string switch_full(const FabricSwitchPart& part) {
  return fmt::format("{} aggregates for {} streaming {} at a time", part.name,
                     part.sharp.trees_per_switch,
                     part.sharp.trees_per_switch == 1 ? "tree" : "trees");
}

}  // namespace

std::size_t SharpTree::place_of(std::uint32_t leaf) const {
  const auto found = std::ranges::lower_bound(switches.front(), leaf, {}, &FabricSwitch::index);
  return static_cast<std::size_t>(found - switches.front().begin());
}

SharpTree sharp_tree(const Cluster& cluster, std::span<const int> nodes, int nic) {
  assert(nodes.size() > 1);
  const VertexId vertex = cluster.node().nics()[static_cast<std::size_t>(nic)].vertex;
  SharpTree tree;
  std::set<std::uint32_t> below;
  for (const int node : nodes) {
    tree.nic_up.push_back(cluster.nic_to_leaf(node, vertex));
    tree.nic_down.push_back(cluster.leaf_to_nic(node, vertex));
    below.insert(cluster.leaf_of(node, vertex));
  }
  std::vector<FabricSwitch> leaves;
  for (const std::uint32_t leaf : below) leaves.push_back({SwitchTier::leaf, leaf});
  tree.switches.push_back(leaves);
  if (leaves.size() == 1) return tree;
  for (const FabricSwitch& leaf : leaves) {
    Climb way = climb_to_root(cluster, leaves, leaf.index, static_cast<std::uint32_t>(nic));
    tree.leaf_up.push_back(std::move(way.up));
    tree.leaf_down.push_back(std::move(way.down));
  }
  for (std::size_t step = 0; step < tree.leaf_up.front().size(); ++step) {
    tree.trunks_up.push_back(side_by_side(tree.leaf_up, step));
    tree.trunks_down.push_back(side_by_side(tree.leaf_down, step));
    std::vector<FabricSwitch>& level = tree.switches.emplace_back();
    for (const LinkId link : tree.trunks_up.back()) add_once(level, cluster.link_to(link).which);
  }
  return tree;
}

/// Links out of a switch have its port-to-port latency, which a level's has in it: once in the
/// root, and once each way in what is below.
Duration sharp_latency(const Cluster& cluster, const SharpTree& tree) {
  Duration sum;
  for (const auto& level : tree.switches) {
    const FabricSwitchPart& part = cluster.switch_part(level.front().tier);
    const bool is_root = &level == &tree.switches.back();
    sum += part.sharp.level_latency * 2 - part.latency * (is_root ? 1 : 2);
  }
  return std::max(Duration{}, sum);
}

Bandwidth sharp_rate(const Cluster& cluster, const SharpTree& tree) {
  Bandwidth least = tree_rate(cluster.switch_part(SwitchTier::leaf));
  for (const auto& level : tree.switches)
    least = std::min(least, tree_rate(cluster.switch_part(level.front().tier)));
  return least;
}

std::string SharpManager::admit(const SharpTree& tree) {
  std::string why = refusal(tree);
  if (!why.empty()) return why;
  ++trees_;
  for (const auto& level : tree.switches)
    for (const FabricSwitch& at : level) ++on_switch_[{at.tier, at.index}];
  ports_.insert(tree.nic_up.begin(), tree.nic_up.end());
  for (const SharpTree::Links& step : tree.trunks_up) ports_.insert(step.begin(), step.end());
  return {};
}

std::string SharpManager::refusal(const SharpTree& tree) const {
  for (const auto& level : tree.switches) {
    const FabricSwitchPart& part = cluster_.switch_part(level.front().tier);
    const int most = part.sharp.trees_per_subnet;
    if (most == 0) return fmt::format("{} switches do not aggregate", part.name);
    if (trees_ >= most) return fmt::format("the subnet has {} streaming trees, all in use", most);
    for (const FabricSwitch& at : level) {
      const auto found = on_switch_.find({at.tier, at.index});
      if (found != on_switch_.end() && found->second == part.sharp.trees_per_switch)
        return switch_full(part);
    }
  }
  const auto taken = [this](LinkId port) { return ports_.contains(port); };
  bool is_taken = std::ranges::any_of(tree.nic_up, taken);
  for (const SharpTree::Links& step : tree.trunks_up)
    is_taken = is_taken || std::ranges::any_of(step, taken);
  return is_taken ? "a port serves one streaming tree at a time" : "";
}

std::string sharp_refusal(const Cluster& cluster, std::span<const int> nodes,
                          std::span<const int> nics) {
  if (nodes.size() < 2) return {};
  if (cluster.fabric().kind == FabricConfig::Kind::dragonfly)
    return "trees in a dragonfly are not modelled";
  SharpManager manager(cluster);
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
