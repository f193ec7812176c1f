#pragma once
// The same cluster below leaves of another size.

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// Its fabric with so many hosts below a leaf of a plane. Switches have as many ports as that
/// takes: nobody has to buy them.
FabricConfig with_leaves(const Cluster& cluster, int hosts_per_leaf);

}  // namespace fabricast
