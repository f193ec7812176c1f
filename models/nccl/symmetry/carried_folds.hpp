#pragma once
// What a carrier of another rung (models/hardware/networks) needs beyond what a move is, for a
// folded run to be the full one.

#include "models/hardware/cluster/network_plan.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// `symmetry` with the moves by which a run on this network may be folded: its first ones, up to
/// one that does not stand here, and `why_not` says why. Flows share links without an order, so
/// that alike ones have equal rates. Packets fold where nothing falls by lot (marks) or is shared
/// by what is folded together (buffers of a switch), and where no two ports of a switch that are
/// folded into one send to the same port: that takes them in turn. Nor do halves of trees with
/// LL128, whose packets come in one instant. REQUIRES: `network` carries.
Symmetry carried_symmetry(const Cluster& cluster, const NetworkPlan& network,
                          const CollectiveRun& run, Symmetry symmetry);
/// The same of a job: all of its works keep as many moves.
JobPlan carried_plan(const Cluster& cluster, const NetworkPlan& network, JobPlan plan);

}  // namespace fabricast
