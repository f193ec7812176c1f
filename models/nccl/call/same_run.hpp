#pragma once
// Whether two calls of one cluster are the same work, whatever settings led to them.

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

/// Both take the same time on the same cluster, as all that is simulated of them is equal. Settings
/// that do not act on such a call may differ (buffers of other protocols), and so may releases that
/// do alike what they decided alike. No, too, where that is not looked at: algorithms and traffic
/// of users, faults.
bool is_same_work(const CollectiveRun& a, const CollectiveRun& b);
/// The same of calls that may be of different sizes.
bool is_same_but_for_size(const CollectiveRun& a, const CollectiveRun& b);

}  // namespace fabricast
