#pragma once
// A topology for other programs: `fabricast topo --format json|dot|yaml`. Keys of the JSON are
// documented in docs/topologies.md.

#include <string>

#include "models/hardware/cluster/cluster.hpp"
#include "models/io/report/report.hpp"

namespace fabricast {

/// Devices and links of one node with rates and latencies as simulated, and the fabric.
std::string topo_json(const Cluster& cluster);
/// The links of it as a table, and the devices. `topology`, `fabric`: as typed.
Report topo_report(const Cluster& cluster, const std::string& topology, const std::string& fabric);
/// One node for Graphviz: a box per CPU with its PCI tree, NVLinks in green, sockets dashed.
std::string topo_dot(const NodeGraph& node);
/// The node as a YAML node type that reads back to the same graph with the same parts.
std::string topo_yaml(const NodeGraph& node, const PartsCatalogue& parts);

}  // namespace fabricast
