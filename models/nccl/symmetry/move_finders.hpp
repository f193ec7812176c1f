#pragma once
// Candidates for moves of a run, each a kind of its own: by whole nodes, inside nodes from rail to
// rail, and of a tree onto its counterpart. A candidate is a move if MoveCheck says so.

#include <span>
#include <string>

#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/symmetry/move.hpp"

namespace fabricast {

/// A call and its parts; none of sends and receives.
struct MovedCall {
  const CollectiveRun* run = nullptr;
  const Partition* partition = nullptr;
};

/// What is broken or slow, so that it has no copies, wherever it stands; "" = nothing.
std::string odd_part(const Cluster& cluster, const CollectiveRun& run);

/// The shortest move by whole nodes that all of the calls have: nodes that are whole such steps
/// apart do the same at the same time. REQUIRES: equal nodes, not split; no custom algorithm.
FoundMove find_shift(const Cluster& cluster, std::span<const MovedCall> calls);

/// The move of most copies by which the GPUs of all nodes go on to the next rail, their NICs and
/// the channels with them; of NVLS and NVLSTree heads go on, and channels stay. REQUIRES: Tree,
/// NVLSTree or NVLS on one node.
FoundMove find_turn(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                    const Partition& partition);

/// Over an even number of nodes the second tree is the first one with nodes in reverse order. So a
/// node on one tree does as the node that stands where it stands from the other end does on the
/// other tree. REQUIRES: Tree or NVLSTree; the turn is that of the run.
FoundMove find_mirror(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                      const Partition& partition, const Move& turn);

}  // namespace fabricast
