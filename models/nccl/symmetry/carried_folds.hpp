#pragma once
// What a carrier of another rung (models/hardware/networks) needs beyond what a move is, for a
// folded run to be the full one.

#include <string_view>

#include "models/hardware/cluster/network_plan.hpp"
#include "models/nccl/symmetry/symmetry.hpp"

namespace fabricast {

/// Why a run on this network is not folded by its symmetry; "" = it is. Flows share links without
/// an order, so that alike ones have equal rates. Packets fold where nothing falls by lot (marks)
/// or is shared by what is folded together (buffers of a switch), and where no two ports of a
/// switch that are folded into one send to the same port: that takes them in turn. Nor do halves of
/// trees with LL128, whose packets come in one instant. REQUIRES: `plan` carries.
std::string_view against_carried_fold(const Cluster& cluster, const NetworkPlan& plan,
                                      const CollectiveRun& run, const Symmetry& symmetry);

}  // namespace fabricast
