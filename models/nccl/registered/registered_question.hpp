#pragma once
// What NCCL's rules of registered buffers need to know of a communicator.

#include <optional>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/communicator/nccl_communicator.hpp"
#include "models/nccl/registered/registered_rules.hpp"

namespace fabricast {

/// `decision`: of the same call with plain buffers; none: sends and receives. `cluster`: tells
/// whether each GPU of a node reaches each over NVLink; none: it does.
RegisteredQuestion question_of(const NcclCommunicator& communicator, Registration asked,
                               Collective collective, Bytes size, const Cluster* cluster,
                               const TunerDecision* decision);

}  // namespace fabricast
