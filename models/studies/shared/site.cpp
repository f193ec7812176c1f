#include "models/studies/shared/site.hpp"

#include "models/nccl/environment/settings.hpp"

namespace fabricast {

NodesRequest nodes_of(const Job& job, int nodes, std::optional<Routing> routing) {
  return {nodes, joins_nvlink_domain(job.environment, job.version), job.gpus_per_node, routing};
}

Site site_of(const Topology& topology, const Job& job, const NodesRequest& nodes) {
  Site out{topology.cluster(nodes), {}};
  out.communicator.version = job.version;
  out.communicator.environment = job.environment;
  out.communicator.gpus_per_node = job.gpus_per_node;
  out.communicator.sharp = job.sharp;
  out.communicator.tuner = job.tuner;
  out.communicator.description = topology.describe(nodes).node;
  return out;
}

}  // namespace fabricast
