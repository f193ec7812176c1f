#pragma once
// What `fabricast topo` prints.

#include <string>
#include <string_view>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// PCI tree, NVLink, NICs, fabric: one line per device with rate and part.
std::string topo_tree(const Cluster& cluster);
/// "00000000,00ffffff" -> "0-23", "0-13,28-41". REQUIRES: hex words, as the node reader checked.
std::string core_ranges(std::string_view affinity);
/// One cell of the matrix: "X", "NV18", "PIX", ...
std::string smi_cell(const NodeGraph& node, VertexId from, VertexId to);
/// As `nvidia-smi topo -m` prints it, legend and NIC legend included.
std::string topo_matrix(const NodeGraph& node);
/// One pair of devices ("gpu0", "mlx5_1", "node1/gpu3"): path type, each link with rate and
/// latency, bottleneck rate and total latency. Throws Error on an unknown name, with the nearest
/// one.
std::string topo_pair(const Cluster& cluster, const std::string& from, const std::string& to);

}  // namespace fabricast
