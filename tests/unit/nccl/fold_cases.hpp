#pragma once
// Random fabrics and members for runs that may be folded, and what must be equal then.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/nccl/symmetry/fold.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

namespace fabricast::testing {

/// Leaves of so few ports that a handful of nodes needs several; two tiers or three.
inline FabricConfig random_fabric(Random& random, const NodeGraph& node,
                                  const PartsCatalogue& parts) {
  FabricConfig fabric = default_fabric(node, parts);
  fabric.is_default = false;
  const auto nics = static_cast<int>(node.nics().size());
  const auto nodes_per_leaf = static_cast<int>(random.pick(1, 4));
  fabric.leaf_down = nodes_per_leaf;
  if (random.pick(0, 2) == 0) {
    fabric.kind = FabricConfig::Kind::fat_tree;
    fabric.leaf_down *= nics;
  }
  fabric.oversubscription = static_cast<double>(random.pick(1, 3));
  if (random.pick(0, 2) == 0) {
    fabric.pod_leaves = static_cast<int>(random.pick(1, 2));
    fabric.core = fabric.spine;
    fabric.core_oversubscription = static_cast<double>(random.pick(1, 2));
    fabric.spine_core = {fabric.leaf_spine_cable, 100};
  }
  fabric.leaf.radix = fabric.spine.radix = fabric.core.radix = 1024;
  return fabric;
}

/// All nodes, the first ones, or every second one.
inline Members random_members(Random& random, int nodes, int gpus_of_node, int gpus) {
  const std::vector<int> chosen = random_subset(random, gpus, gpus_of_node);
  std::vector<int> places;
  const auto kind = random.pick(0, 3);
  for (int node = 0; node < nodes; ++node)
    if (kind > 0 || node % 2 == 0) places.push_back(node);
  return {places, chosen};
}

/// Of a preset; read once.
inline const NodeGraph& node_of(const std::string& preset, const PartsCatalogue& parts) {
  static std::map<std::string, NodeGraph> known;
  const auto at = known.find(preset);
  if (at != known.end()) return at->second;
  return known.emplace(preset, load_cluster({preset, 1, ""}, parts).node()).first->second;
}

struct Drawn {
  Cluster cluster;
  CollectiveRun run;
};

inline SimulationOptions options(bool fold, bool fast_forward = false, bool explain = false) {
  SimulationOptions out;
  out.fold = fold;
  out.fast_forward = fast_forward;
  out.first_look = 0;
  out.explain = explain;
  return out;
}

inline void check_equal(const SimulationResult& got, const SimulationResult& full) {
  CHECK(got.time == full.time);
  CHECK(got.launch == full.launch);
  CHECK(got.rank_finish == full.rank_finish);
  CHECK(got.events == full.events);
  CHECK(got.slices == full.slices);
}

/// Every link of the full run carries what its copy in the folded one does, and there are no more.
inline void check_links(const Drawn& drawn, const SimulationResult& folded,
                        const SimulationResult& full) {
  const Fold fold = find_fold(drawn.cluster, drawn.run);
  std::map<std::uint32_t, LinkLoad> known;
  std::size_t copies = 0;
  for (const LinkLoad& load : folded.links) {
    known[index_of(load.link)] = load;
    copies += static_cast<std::size_t>(load.copies);
  }
  CHECK(copies == full.links.size());
  const bool all_equal = std::ranges::all_of(full.links, [&](const LinkLoad& load) {
    const auto like = known.find(index_of(fold.representative(drawn.cluster, load.link)));
    return like != known.end() && like->second.carried == load.carried &&
           like->second.utilisation == load.utilisation;
  });
  CHECK(all_equal);
}

}  // namespace fabricast::testing
