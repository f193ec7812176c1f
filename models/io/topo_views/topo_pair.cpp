// The way between two devices, link by link.
#include <fmt/format.h>

#include <algorithm>

#include "models/io/topo_views/topo_text.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

struct End {
  int host = 0;
  int node = 0;  ///< of the cluster: several hosts where NVLink joins them
  VertexId device{};
};

/// "gpu3" stands in node 0, "node1/gpu3" in node 1.
End find_end(const Cluster& cluster, std::string_view name) {
  End end;
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    std::string_view number = name.substr(0, slash);
    number.remove_prefix(number.starts_with("node") ? 4 : 0);
    const auto host = to_number<int>(number);
    if (number.size() == slash || !host) {
      throw Error(fmt::format("\"{}\" is not a device of a node", name),
                  "write it like node1/gpu3");
    }
    end.host = *host;
    if (end.host < 0 || end.host >= cluster.hosts()) {
      throw Error(fmt::format("there is no node{}: the cluster has {} {}, counted from 0", end.host,
                              cluster.hosts(), cluster.hosts() == 1 ? "node" : "nodes"));
    }
    name.remove_prefix(slash + 1);
  }
  end.node = end.host / cluster.node().trays();
  end.device = cluster.node().find(name, end.host % cluster.node().trays());
  if (cluster.node().vertex(end.device).kind == VertexKind::nvswitch) {
    throw Error(fmt::format("\"{}\" only passes traffic on", name), "name a GPU, a NIC or a CPU");
  }
  return end;
}

/// The NIC a device uses by itself: the nearest one; equally near ones are dealt out by index.
VertexId nearest_nic(const NodeGraph& node, VertexId device) {
  if (node.vertex(device).kind == VertexKind::nic) return device;
  const auto distance = [&](const NicInfo& nic) {
    return std::pair(node.smi_path(device, nic.vertex), node.pcie_route(device, nic.vertex).size());
  };
  std::vector<VertexId> nearest;
  const std::span<const NicInfo> nics = node.nics_of(node.vertex(device).tray);
  auto best = distance(nics.front());
  for (const NicInfo& nic : nics) best = std::min(best, distance(nic));
  for (const NicInfo& nic : nics) {
    if (distance(nic) == best) nearest.push_back(nic.vertex);
  }
  return nearest[static_cast<std::size_t>(node.vertex(device).index) % nearest.size()];
}

struct Way {
  std::string type;  ///< NCCL's word for it (src/graph/topo.h, topoPathTypeStr)
  std::vector<LinkId> links;
};

Way way_inside(const Cluster& cluster, int index, VertexId from, VertexId to) {
  const NodeGraph& node = cluster.node();
  Way way;
  std::vector<LinkId> local = node.nvlink_route(from, to);
  if (local.empty()) local = node.pcie_route(from, to);
  for (const LinkId id : local) way.links.push_back(cluster.global(index, id));
  if (node.is_behind_c2c(from, to) || node.is_behind_c2c(to, from)) {
    way.type = "P2C";  // PHB before 2.27
    return way;
  }
  switch (node.smi_path(from, to)) {
    case SmiPath::self:
      way.type = "LOC";
      break;
    case SmiPath::nvlink:
      way.type = "NVL";
      break;
    case SmiPath::pix:
      way.type = "PIX";
      break;
    case SmiPath::pxb:
      way.type = "PXB";
      break;
    case SmiPath::phb:
    case SmiPath::node:
      way.type = "PHB";
      break;  // NCCL does not tell host bridges apart
    case SmiPath::sys:
      way.type = "SYS";
      break;
  }
  return way;
}

Way way_across(const Cluster& cluster, const End& from, const End& to) {
  const VertexId out = nearest_nic(cluster.node(), from.device);
  const VertexId in = nearest_nic(cluster.node(), to.device);
  Way way{"NET", {}};
  const auto append = [&](const std::vector<LinkId>& links) {
    way.links.insert(way.links.end(), links.begin(), links.end());
  };
  if (out != from.device) append(way_inside(cluster, from.node, from.device, out).links);
  append(cluster.fabric_route(from.node, out, to.node, in));
  if (in != to.device) append(way_inside(cluster, to.node, in, to.device).links);
  return way;
}

}  // namespace

std::string topo_pair(const Cluster& cluster, const std::string& from, const std::string& to) {
  const End a = find_end(cluster, from), b = find_end(cluster, to);
  if (a.host == b.host && a.device == b.device) {
    throw Error(fmt::format("\"{}\" and \"{}\" are the same device", from, to));
  }
  const bool has_nvlink =
      a.node == b.node && !cluster.node().nvlink_route(a.device, b.device).empty();
  const Way way = a.host == b.host || has_nvlink ? way_inside(cluster, a.node, a.device, b.device)
                                                 : way_across(cluster, a, b);
  std::vector<std::string> names;
  std::size_t width = 0;
  std::size_t slowest = 0;
  Duration latency{};
  for (std::size_t i = 0; i < way.links.size(); ++i) {
    names.push_back(cluster.link_name(way.links[i]));
    width = std::max(width, names.back().size());
    latency += cluster.link(way.links[i]).latency;
    if (cluster.link(way.links[i]).rate < cluster.link(way.links[slowest]).rate) slowest = i;
  }
  std::string out = fmt::format("{} -> {}: {}\n", from, to, way.type);
  for (std::size_t i = 0; i < way.links.size(); ++i) {
    const ClusterLink link = cluster.link(way.links[i]);
    out += fmt::format("  {:<{}}  {:>11}  {:>9}\n", names[i], width, to_text(link.rate),
                       to_text(link.latency));
  }
  return out + fmt::format("bottleneck {} ({}), one-way latency {}\n",
                           to_text(cluster.link(way.links[slowest]).rate), names[slowest],
                           to_text(latency));
}

}  // namespace fabricast
