#pragma once
// Dispatch and combine as calls of NCCL.

#include <vector>

#include "models/experts/ep_run.hpp"
#include "models/nccl/sendrecv/p2p_traffic.hpp"
#include "models/studies/shared/site.hpp"

namespace fabricast {

/// One after another: of nccl-alltoall one all-to-all-v of a token for each of its experts; of
/// hierarchical two, between equal-numbered GPUs a token once for each node, then inside the nodes
/// once for each rank (combine: the other way round). `gpus`: of a node.
std::vector<P2pTraffic> nccl_traffic(const TokenCounts& counts, std::int64_t token_bytes,
                                     EpMode mode, EpPhase phase);

/// Lone calls of `kernels` and `one_shot`, calls in a row of the others, as `bench` times them.
/// REQUIRES: not has_own_kernels(mode). Throws Error.
EpResult run_nccl_experts(const Site& site, const SoftwareCosts& software, const ExpertCall& call,
                          EpMode mode, EpPhase phase, const TokenCounts& counts, EpLaunch launch);

}  // namespace fabricast
