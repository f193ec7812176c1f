#pragma once
// What the links of a cluster carried in a run.

#include <functional>
#include <vector>

#include "models/nccl/simulation.hpp"

namespace fabricast {

/// Of all links that carried anything, busiest first. `carried`: wire bytes of a link.
std::vector<LinkLoad> link_loads(const Cluster& cluster, Duration makespan,
                                 const std::function<Bytes(std::uint32_t)>& carried);

}  // namespace fabricast
