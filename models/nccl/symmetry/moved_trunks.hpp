#pragma once
// Links between switches that a move of nodes below one leaf takes to each other. A way to a NIC on
// another rail goes over a spine that follows from the receiver's port: one node on, one spine on.

#include <cstdint>
#include <map>

#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/symmetry/move.hpp"

namespace fabricast {

/// Of each that the run uses the one simulated. Nothing if there are none, or if one would stay,
/// go to an unlike one, or come back before all nodes have.
/// REQUIRES: the members' nodes are below one leaf, spread evenly, and `move` is one by nodes.
std::map<std::uint32_t, std::uint32_t> moved_trunks(const Cluster& cluster,
                                                    const CollectiveRun& run,
                                                    const Members& members, const Move& move);

}  // namespace fabricast
