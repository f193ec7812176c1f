#pragma once
// Independent pieces of work on all cores.

#include <functional>

#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// About in the order of their numbers, on as many threads as there are cores; throws what the
/// first failing one threw. `progress` gets the share done, 0..1, one call at a time; empty when
/// nobody watches.
ForEach on_all_cores(std::function<void(double)> progress);

}  // namespace fabricast
