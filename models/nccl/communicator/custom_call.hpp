#pragma once
// A call that a custom algorithm runs in place of NCCL's own.

#include "models/nccl/communicator/communicator.hpp"

namespace fabricast {

/// The algorithm outlives the call. Throws Error where it is for another number of ranks, or
/// another collective or root.
DecidedCall custom_call(const Communicator& communicator, const Call& call,
                        const CustomAlgorithm& algorithm, Protocol protocol);
/// The protocol that it names, else all.
std::vector<Protocol> protocols_of(const CustomAlgorithm& algorithm);

}  // namespace fabricast
