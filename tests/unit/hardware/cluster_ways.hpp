#pragma once
// For tests of a cluster's fabric: where ways start, and how long they are.

#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

inline VertexId nic(const Cluster& cluster, std::size_t rail) {
  return cluster.node().nics()[rail].vertex;
}

/// Of all links of a route.
inline Duration latency(const Cluster& cluster, const std::vector<LinkId>& route) {
  Duration sum{};
  for (const LinkId id : route) sum += cluster.link(id).latency;
  return sum;
}

}  // namespace fabricast
