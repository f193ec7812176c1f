#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/io/topo_views/topo_formats.hpp"
#include "text/enum_words.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kVertexNames =
    enum_words<VertexKind>("cpu", "pcie_switch", "gpu", "nvswitch", "nic");
constexpr auto kLinkNames =
    enum_words<LinkKind>("nvlink", "c2c", "pcie", "socket", "network", "memory", "root");

double nanoseconds(Duration duration) { return static_cast<double>(duration.ps) / 1000; }

void add_details(const NodeGraph& node, const Vertex& vertex, Json& out) {
  const auto index = static_cast<std::size_t>(vertex.index);
  if (vertex.kind == VertexKind::cpu) {
    const CpuInfo& cpu = node.cpus()[index];
    out["numa"] = cpu.numa;
    out["affinity"] = cpu.affinity;
  } else if (vertex.kind == VertexKind::gpu) {
    const GpuInfo& gpu = node.gpus()[index];
    out["compute_capability"] = gpu.part.sm;
    out["gpudirect_rdma"] = gpu.gdr;
    out["nvlinks"] = gpu.nvlink_count;
    if (gpu.c2c_links > 0) out["c2c_links"] = gpu.c2c_links;
  } else if (vertex.kind == VertexKind::nic) {
    const NicInfo& nic = node.nics()[index];
    out["port"] = nic.port;
    out["port_bytes_per_s"] = nic.speed.bytes_per_s;
    out["guid"] = nic.guid;
    out["gpudirect_rdma"] = nic.gdr;
    out["rail"] = nic.rail;
  } else if (vertex.kind == VertexKind::nvswitch) {
    out["chips"] = node.nvswitch_chips();
  }
}

Json device(const NodeGraph& node, const Vertex& vertex) {
  Json out = {{"name", vertex.name},
              {"kind", kVertexNames[vertex.kind]},
              {"index", vertex.index},
              {"part", vertex.part}};
  if (vertex.has_parent) {
    out["parent"] = node.vertex(vertex.parent).name;
    out["busid"] = vertex.busid;
    out["pcie_gen"] = vertex.pcie_gen;
    out["pcie_width"] = vertex.pcie_width;
  }
  add_details(node, vertex, out);
  return out;
}

Json fabric(const Cluster& cluster) {
  const FabricConfig& config = cluster.fabric();
  return {
      {"name", config.name},
      {"is_assumed", config.is_default},
      {"shape", config.kind == FabricConfig::Kind::rail_optimised ? "rail_optimised" : "fat_tree"},
      {"planes", cluster.planes()},
      {"leaves_per_plane", cluster.leaves_per_plane()},
      {"uplinks_per_leaf", cluster.uplinks()},
      {"leaf_down_ports", config.leaf_down},
      {"oversubscription", config.oversubscription},
      {"leaf", config.leaf.name},
      {"spine", config.spine.name}};
}

}  // namespace

std::string topo_json(const Cluster& cluster) {
  const NodeGraph& node = cluster.node();
  Json out = {{"name", node.name()}, {"title", node.title()}, {"nodes", cluster.nodes()}};
  if (node.domain_nodes() > 1) out["nvlink_domain"] = node.domain_nodes();
  out["devices"] = Json::array();
  for (const Vertex& vertex : node.vertices()) out["devices"].push_back(device(node, vertex));
  out["links"] = Json::array();
  for (const NodeLink& link : node.links()) {
    if (link.from == link.to) continue;  // inside a CPU
    out["links"].push_back({{"from", node.vertex(link.from).name},
                            {"to", node.vertex(link.to).name},
                            {"kind", kLinkNames[link.kind]},
                            {"bytes_per_s", link.rate.bytes_per_s},
                            {"latency_ns", nanoseconds(link.latency)}});
  }
  out["fabric"] = fabric(cluster);
  return json_document(out);
}

}  // namespace fabricast
