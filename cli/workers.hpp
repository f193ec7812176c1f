#pragma once
// Independent pieces of work on all cores.

#include <functional>

namespace fabricast {

/// Calls one(0) .. one(count - 1), about in this order, on as many threads as there are cores;
/// throws what the first failing one threw. `progress` gets the share done, 0..1, one call at a
/// time; empty when nobody watches.
void for_each_on_all_cores(std::size_t count, const std::function<void(std::size_t)>& one,
                           const std::function<void(double)>& progress);

}  // namespace fabricast
