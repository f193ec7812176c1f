#pragma once
// Which preset a node is most like, and in what it differs from it.

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/node/node_graph.hpp"
#include "models/hardware/node/node_type.hpp"

namespace fabricast {

struct KnownNode {
  std::string name;
  NodeType type;
  NodeGraph graph;

  KnownNode(std::string called, NodeType node, const PartsCatalogue& parts)
      : name(std::move(called)), type(std::move(node)), graph(NodeGraph::build(type, parts)) {}
};

/// The part of the node's first GPU.
const std::string& gpu_part(const NodeGraph& node);

/// Presets of one node with this GPU, in the order of their names.
std::vector<KnownNode> nodes_with(const std::string& gpu, const PartsCatalogue& parts);

/// Of presets with the same GPU the one with the nearest numbers of GPUs and NICs, then the most
/// equal ways.
std::optional<KnownNode> nearest_node(const NodeGraph& node, const PartsCatalogue& parts);

/// "GPU0-NIC1 PIX (PXB there)" for all pairs that both have.
std::vector<std::string> differing_ways(const NodeGraph& here, const NodeGraph& there);

/// One line each: numbers of GPUs and NICs, NVLinks, CPUs, kinds and rates of NICs, ways.
std::vector<std::string> differences(const NodeGraph& here, const NodeGraph& there);

/// "a, b, c and 12 more"
std::string first_of(const std::vector<std::string>& items);

}  // namespace fabricast
