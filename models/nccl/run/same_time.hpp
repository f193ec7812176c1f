#pragma once
// Whether two calls of one cluster take the same time, by what their settings come to there.

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

/// As is_same_work(), of one call alone and in a row, and more: settings may differ that come to
/// the same on this cluster. Of the network those that leave what a message costs as it is, of the
/// ways those that leave GPUs and NICs as near as they are, of sends and receives those that cut
/// these messages alike. What NCCL would decide on other nodes or of other sizes may differ.
bool takes_same_time(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& a,
                     const CollectiveRun& b);

}  // namespace fabricast
