#pragma once
// What NCCL settles about a group of sends and receives; the tuner has no say in it.

#include <optional>

#include "models/nccl/call/message_cut.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/sendrecv/p2p_plan.hpp"

namespace fabricast {

/// Throws Error when the hosts of the communicator fall apart, or chunks are next to nothing.
P2pPlan p2p_plan(const Communicator& communicator);

/// REQUIRES: no tuned collective.
DecidedCall decide_p2p_call(const Communicator& communicator, const Call& call);

/// How the messages of a call are cut: those to other nodes, those inside a node. None where there
/// are no such messages.
std::optional<P2pCut> p2p_cut(const CollectiveRun& run, int ranks, bool remote);

}  // namespace fabricast
