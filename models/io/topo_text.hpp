#pragma once
// What `fabricast topo` prints.

#include <string>

#include "models/hardware/cluster.hpp"

namespace fabricast {

/// PCI tree, NVLink, NICs, fabric: one line per device with rate and part.
std::string topo_tree(const Cluster& cluster);
/// As `nvidia-smi topo -m` prints it, legend and NIC legend included.
std::string topo_matrix(const NodeGraph& node);
/// One pair of devices ("gpu0", "mlx5_1", "node1/gpu3"): path type, each link with rate and latency,
/// bottleneck rate and total latency. Throws Error on an unknown name, with the nearest one.
std::string topo_pair(const Cluster& cluster, const std::string& from, const std::string& to);

}  // namespace fabricast
