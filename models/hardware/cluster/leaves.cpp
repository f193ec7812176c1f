#include "models/hardware/cluster/leaves.hpp"

namespace fabricast {
namespace {

constexpr int kAnyRadix = 1 << 30;

}  // namespace

FabricConfig with_leaves(const Cluster& cluster, int hosts_per_leaf) {
  FabricConfig out = cluster.fabric();
  const bool rails = out.kind == FabricConfig::Kind::rail_optimised;
  out.leaf_down = hosts_per_leaf * (rails ? 1 : cluster.node().nics_per_tray());
  out.leaf.radix = out.spine.radix = out.core.radix = kAnyRadix;
  return out;
}

}  // namespace fabricast
