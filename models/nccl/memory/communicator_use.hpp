#pragma once
// What was called on a communicator: by that it has connections, and with them buffers.

#include <vector>

#include "models/nccl/communicator/communicator.hpp"

namespace fabricast {

struct CommunicatorUse {
  std::vector<Algorithm> algorithms;  ///< that some call took
  std::vector<Collective> sends;      ///< alltoall, sendrecv, gather, scatter
};

struct MemoryCall {
  Collective collective{};
  Bytes size;  ///< says nothing of what the tuner does not choose for
  bool operator==(const MemoryCall&) const = default;
};

/// What the tuner takes for the calls, and the sends and receives.
CommunicatorUse use_of(const Communicator& communicator, const std::vector<MemoryCall>& calls);

}  // namespace fabricast
