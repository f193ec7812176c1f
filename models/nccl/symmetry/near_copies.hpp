#pragma once
// Nodes that are nearly alike: they stand on leaves that begin elsewhere. No move of the run, but
// a twin of it may be folded so (exchange_bounds.hpp).

#include "models/nccl/symmetry/move.hpp"

namespace fabricast {

/// Nodes `period` places apart as if they did the same at the same time. Who is simulated sends
/// over its own leaf's uplinks; what goes down to a node's leaf goes down as to the simulated one
/// in its place. REQUIRES: all nodes of the cluster in their order, of which the period is a part;
/// routes by destination or over pools.
Move near_copies(const Cluster& cluster, int gpus_per_node, int period);

}  // namespace fabricast
