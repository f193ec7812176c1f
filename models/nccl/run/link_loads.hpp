#pragma once
// What the links of a cluster carried in a run.

#include <functional>
#include <map>
#include <vector>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// The loads of all links that carried anything, busiest first. `carried`: wire bytes of a link.
std::vector<LinkLoad> link_loads(const Cluster& cluster, Duration makespan,
                                 const std::function<Bytes(std::uint32_t)>& carried);
/// Of these links of the cluster, each with what it carried and `copies` that are alike.
std::vector<LinkLoad> link_loads(const Cluster& cluster, Duration makespan,
                                 const std::map<std::uint32_t, Bytes>& carried, int copies);

}  // namespace fabricast
