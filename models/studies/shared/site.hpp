#pragma once
// Where a job runs: its nodes as a cluster and as NCCL sees them. NVLink domains are one node where
// the release and the environment make them one.

#include <optional>

#include "models/hardware/cluster/cluster.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

struct Site {
  Cluster cluster;
  CommunicatorConfig communicator;  ///< of all GPUs that take part

  Communicator make() const { return make_communicator(cluster, communicator); }
};

/// The files that a job names. `parts` outlives it.
inline Topology topology_of(const Job& job, const PartsCatalogue& parts) {
  return {job.topology, job.fabric, parts};
}
/// 0 nodes = what the topology says. `routing`: instead of the fabric's.
NodesRequest nodes_of(const Job& job, int nodes, std::optional<Routing> routing = std::nullopt);
/// REQUIRES: the topology is the job's. Throws Error.
Site site_of(const Topology& topology, const Job& job, const NodesRequest& nodes);

/// The same, for those who need it once.
inline Site load_site(const Job& job, int nodes, const PartsCatalogue& parts) {
  return site_of(topology_of(job, parts), job, nodes_of(job, nodes));
}
inline Cluster load_cluster(const Job& job, int nodes, const PartsCatalogue& parts) {
  return topology_of(job, parts).cluster(nodes_of(job, nodes));
}

}  // namespace fabricast
