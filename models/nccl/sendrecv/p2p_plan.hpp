#pragma once
// A communicator's sends and receives, as NCCL settled them when it was created.

#include "models/nccl/sendrecv/p2p_message.hpp"
#include "models/nccl/sendrecv/p2p_nics.hpp"

namespace fabricast {

struct P2pPlan {
  P2pRules rules;
  P2pNics nics;                ///< of several nodes
  int group_size = 8;          ///< NCCL_P2P_SCHEDULE_GROUP_SIZE
  bool shared_buffers = true;  ///< NCCL_NET_SHARED_BUFFERS
};

}  // namespace fabricast
