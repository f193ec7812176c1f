#pragma once
// What a network that routes otherwise than by destination, or is of another rung, needs beyond
// what a move is, for a folded run to be the full one.

#include "models/hardware/cluster/network_plan.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

/// `symmetry` with the moves by which a run on this network may be folded: its first ones, up to
/// one that does not stand here, and `why_not` says why. All stand where ways go by destination.
/// What ECMP hashes is alike where nothing crosses a link between switches, and else neither ranks
/// nor channels are. Flows share links without an order, so that alike ones have equal rates.
/// Packets fold where nothing falls by lot (marks) or is shared by what is folded together (buffers
/// of a switch), and where no two ports of a switch that are folded into one send to the same port:
/// that takes them in turn. Nor do halves of trees with LL128, whose packets come in one instant.
Symmetry standing_symmetry(const Cluster& cluster, const NetworkPlan& network,
                           const CollectiveRun& run, Symmetry symmetry);
/// The same of a job, planned for these streams: all of its works keep as many moves.
JobPlan standing_plan(const Cluster& cluster, const NetworkPlan& network,
                      std::span<const Stream> streams, JobPlan plan);

}  // namespace fabricast
