#include "models/io/topologies/import_topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/hardware/node/node_graph.hpp"
#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/import_node.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/nearest_node.hpp"
#include "models/io/topologies/tool_node.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

std::string summary(const NodeGraph& node, const std::string& nearest) {
  return fmt::format("{} x {}, {}; nearest: {}", node.gpus().size(),
                     node.vertex(node.gpus().front().vertex).part,
                     counted(std::ssize(node.nics()), "NIC"), nearest);
}

ToolNode node_from_xml(const std::string& text, const std::string& file, const NodeChanges& changes,
                       const PartsCatalogue& parts) {
  const NodeDescription described = parse_nccl_xml(text, file);
  check_is_detected(described);
  ToolNode out;
  out.kind = "NCCL topology XML";
  out.node = changed(import_node(described, parts), changes, parts);
  const NodeGraph here = NodeGraph::build(out.node, parts);
  if (const auto nearest = nearest_node(here, parts)) {
    out.nearest = nearest->name;
    out.notes = differences(here, NodeGraph::build(nearest->type, parts));
  } else {
    out.nearest = "none has this GPU";
  }
  return out;
}

}  // namespace

ImportedNode import_topology(const std::string& text, const std::string& file,
                             const NodeChanges& changes, const PartsCatalogue& parts) {
  const ToolNode read = is_xml(text) ? node_from_xml(text, file, changes, parts)
                                     : node_from_tool(text, file, changes, parts);
  const NodeGraph node = NodeGraph::build(read.node, parts);
  return {topo_yaml(node, parts), summary(node, read.nearest), read.notes};
}

}  // namespace fabricast
