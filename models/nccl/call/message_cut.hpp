#pragma once
// How NCCL cuts the messages of a run of sends and receives.

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

struct P2pCut {
  P2pSplit split;
  P2pPart part;  ///< the first
};

/// `remote`: of a message to another node. REQUIRES: !run.has_algorithm().
P2pCut message_cut(const CollectiveRun& run, bool remote);

}  // namespace fabricast
