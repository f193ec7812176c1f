#include "models/nccl/symmetry/near_copies.hpp"

#include <optional>
#include <utility>

namespace fabricast {
namespace {

/// The link by which other leaves' bytes come down to the leaf of a NIC; nothing if there are none.
std::optional<LinkId> link_down(const Cluster& cluster, int node, VertexId nic) {
  for (int from = 0; from < cluster.nodes(); ++from) {
    if (cluster.leaf_of(from, nic) == cluster.leaf_of(node, nic)) continue;
    const std::vector<LinkId> route = cluster.fabric_route(from, nic, node, nic);
    return route[route.size() - 2];
  }
  return std::nullopt;
}

}  // namespace

Move near_copies(const Cluster& cluster, int gpus_per_node, int period) {
  Move out;
  out.nodes = cluster.nodes();
  out.gpus = gpus_per_node;
  out.period = period;
  out.copies = out.nodes / period;
  out.step = period * cluster.node().trays();
  for (int node = period; node < out.nodes; ++node) {
    for (const NicInfo& nic : cluster.node().nics()) {
      const auto from = link_down(cluster, node, nic.vertex),
                 to = link_down(cluster, node % period, nic.vertex);
      if (from && to) out.trunk.try_emplace(index_of(*from), index_of(*to));
    }
  }
  return out;
}

}  // namespace fabricast
