#pragma once
// What a question to NCCL asks of a --topology: nodes of an NVLink domain are one where the release
// and the environment make them one.

#include <string>

#include "models/io/topologies/load.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/environment/settings.hpp"

namespace fabricast {

inline TopologyRequest nccl_request(const std::string& topology, int nodes,
                                    const std::string& fabric, const Environment& environment,
                                    NcclVersion version, int gpus_per_node = 0) {
  return {topology, nodes, fabric, joins_nvlink_domain(environment, version), gpus_per_node};
}

}  // namespace fabricast
