#include "models/io/topo_views/topo_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

/// NVLinks of a GPU: "NVLink x18 to nvswitch 370.8 GB/s", or one per neighbour; then NVLink-C2C.
std::string nvlink_text(const NodeGraph& node, VertexId gpu) {
  std::string out;
  for (std::size_t i = 0; i < node.links().size(); ++i) {
    const NodeLink& link = node.links()[i];
    if (link.from != gpu || link.kind != LinkKind::nvlink) continue;
    out += fmt::format("{}NVLink x{} to {} {}", out.empty() ? "" : ", ",
                       node.nvlinks_between(gpu, link.to), node.vertex(link.to).name,
                       to_text(link.rate));
  }
  for (const NodeLink& link : node.links()) {
    if (link.from != gpu || link.kind != LinkKind::c2c) continue;
    const GpuInfo& info = node.gpus()[static_cast<std::size_t>(node.vertex(gpu).index)];
    out += fmt::format("{}NVLink-C2C x{} to {} {}", out.empty() ? "" : ", ", info.c2c_links,
                       node.vertex(link.to).name, to_text(link.rate));
  }
  return out;
}

std::string nic_text(const NicInfo& nic) {
  return fmt::format("port {} {}, rail {}{}", nic.port, to_bits_text(nic.speed), nic.rail,
                     nic.gdr ? "" : ", no GPUDirect RDMA");
}

std::string cpu_text(const NodeGraph& node, const CpuInfo& cpu) {
  std::string out = fmt::format("NUMA {}, cores {}", cpu.numa, core_ranges(cpu.affinity));
  for (const NodeLink& link : node.links()) {
    if (link.from != cpu.vertex || link.kind != LinkKind::socket) continue;
    out += fmt::format(", {} to {}", to_text(link.rate), node.vertex(link.to).name);
  }
  return out;
}

void add_device(const NodeGraph& node, VertexId id, std::size_t depth, TextTable& table) {
  const Vertex& vertex = node.vertex(id);
  const auto index = static_cast<std::size_t>(vertex.index);
  const std::string name = std::string(2 * depth, ' ') + vertex.name;
  std::string more;
  switch (vertex.kind) {
    case VertexKind::cpu:
      table.add({name, vertex.part, cpu_text(node, node.cpus()[index])});
      break;
    case VertexKind::gpu:
      more = nvlink_text(node, id);
      break;
    case VertexKind::nic:
      more = nic_text(node.nics()[index]);
      break;
    case VertexKind::pcie_switch:
    case VertexKind::nvswitch:
      break;
  }
  if (vertex.has_parent) {
    const auto up = std::ranges::find_if(node.links(), [&](const NodeLink& link) {
      return link.from == id && link.to == vertex.parent && link.kind == LinkKind::pcie;
    });
    const Bandwidth rate = up->rate;
    table.add({name, vertex.part,
               fmt::format("PCIe gen{} x{} {}", vertex.pcie_gen, vertex.pcie_width, to_text(rate)),
               vertex.busid, more});
  }
  for (const VertexId child : node.children(id)) add_device(node, child, depth + 1, table);
}

std::string fabric_text(const Cluster& cluster) {
  std::string out =
      fmt::format("\nfabric {}: {}\n", cluster.fabric().name, cluster.fabric_summary());
  if (cluster.planes() == 0) return out;
  const auto first = [&](std::uint32_t ports, std::string_view what) {
    const LinkId id{index_of(cluster.first_fabric_link()) + ports};
    const ClusterLink link = cluster.link(id);
    return fmt::format("  {}  {} payload, {} with the {} it leaves\n", what, to_text(link.rate),
                       to_text(link.latency), what == "node to leaf " ? "NIC" : "leaf");
  };
  const auto ports =
      static_cast<std::uint32_t>(cluster.nodes() * std::ssize(cluster.node().nics()));
  out += first(0, "node to leaf ");
  if (cluster.uplinks() > 0) out += first(2 * ports, "leaf to spine");
  return out;
}

}  // namespace

std::string topo_tree(const Cluster& cluster) {
  const NodeGraph& node = cluster.node();
  std::string out = fmt::format("{}: {}\n", node.name(), node.title());
  out +=
      fmt::format("{}, each with {} and {}\n\n", counted(cluster.nodes(), "node"),
                  counted(std::ssize(node.gpus()), "GPU"), counted(std::ssize(node.nics()), "NIC"));
  if (node.domain_nodes() > 1)
    out.insert(out.size() - 2, fmt::format("; NVLink joins up to {} nodes", node.domain_nodes()));
  TextTable table;
  for (const CpuInfo& cpu : node.cpus()) add_device(node, cpu.vertex, 0, table);
  out += table.text();
  if (!node.nvswitches().empty()) {
    out += fmt::format("nvswitch  {} x {}, one plane\n", node.nvswitch_chips(),
                       node.nvswitches().front().part.name);
  }
  return out + fabric_text(cluster);
}

}  // namespace fabricast
