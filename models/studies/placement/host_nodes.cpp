#include "models/studies/placement/host_nodes.hpp"

#include "models/hardware/cluster/gpus_used.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

HostNodes::HostNodes(const Job& job, const PartsCatalogue& parts)
    : job_(job), topology_(topology_of(job, parts)) {
  if (nodes_of(job, 1).joins_domains) most_ = host().cluster.node().domain_nodes();
}

const Site& HostNodes::of(int trays) {
  const auto known = made_.find(trays);
  if (known != made_.end()) return known->second;
  return made_.emplace(trays, site_of(topology_, job_, nodes_of(job_, trays))).first->second;
}

int HostNodes::gpus_per_host() { return gpus_used(host().cluster, job_.gpus_per_node); }

}  // namespace fabricast
