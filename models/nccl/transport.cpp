#include "models/nccl/transport.hpp"

#include <cassert>
#include <optional>

namespace fabricast {

namespace {

void append(std::vector<LinkId>& links, const Cluster& cluster, int node,
            const std::vector<LinkId>& local) {
  for (const LinkId link : local) links.push_back(cluster.global(node, link));
}

Duration latency(const NodeGraph& graph, const std::vector<LinkId>& links) {
  Duration sum;
  for (const LinkId link : links) sum += graph.link(link).latency;
  return sum;
}

PathType path_type(const NodeGraph& graph, VertexId from, VertexId to) {
  switch (graph.smi_path(from, to)) {
    case SmiPath::self:
      return PathType::loc;
    case SmiPath::nvlink:
      return PathType::nvl;
    case SmiPath::pix:
      return PathType::pix;
    case SmiPath::pxb:
      return PathType::pxb;
    case SmiPath::phb:
    case SmiPath::node:  // two host bridges of one CPU: NCCL has one
      return PathType::phb;
    case SmiPath::sys:
      return PathType::sys;
  }
  return PathType::dis;
}

PathType nic_distance(const NodeGraph& graph, VertexId gpu, VertexId nic,
                      const TransportRules& rules) {
  return graph.is_behind_c2c(gpu, nic) ? rules.c2c_nic : path_type(graph, gpu, nic);
}

bool gdr(const NodeGraph& graph, const GpuInfo& gpu, const NicInfo& nic,
         const TransportRules& rules) {
  return gpu.gdr && nic.gdr &&
         nic_distance(graph, gpu.vertex, nic.vertex, rules) <= rules.gdr_level;
}

/// Before Ampere the NIC reads from a GPU only if other traffic has NVLink (src/graph/paths.cc).
bool gdr_read(const NodeGraph& graph, std::span<const int> gpus, const GpuInfo& gpu,
              const TransportRules& rules) {
  if (rules.gdr_read) return *rules.gdr_read;
  if (gpu.part.sm >= 80 || gpus.size() == 1) return true;
  for (const int i : gpus) {
    const VertexId other = graph.gpus()[static_cast<std::size_t>(i)].vertex;
    if (other != gpu.vertex && !graph.nvlink_route(gpu.vertex, other).empty()) return true;
  }
  return false;
}

/// The GPU through which a far one sends: next to the NIC and joined by NVLink.
std::optional<int> pxn_gpu(const NodeGraph& graph, std::span<const int> gpus, const GpuInfo& from,
                           const NicInfo& nic, const TransportRules& rules) {
  const auto near = [&](const GpuInfo& gpu) {
    if (graph.is_behind_c2c(gpu.vertex, nic.vertex)) return rules.pxn_c2c;
    return path_type(graph, gpu.vertex, nic.vertex) <= PathType::pxb;
  };
  if (near(from)) return std::nullopt;
  for (const int i : gpus) {
    const GpuInfo& relay = graph.gpus()[static_cast<std::size_t>(i)];
    if (relay.vertex == from.vertex || !near(relay)) continue;
    if (!graph.nvlink_route(from.vertex, relay.vertex).empty()) return i;
  }
  return std::nullopt;
}

Transport inside_node(const Cluster& cluster, Endpoint from, Endpoint to,
                      const TransportRules& rules) {
  const NodeGraph& graph = cluster.node();
  const VertexId a = graph.gpus()[static_cast<std::size_t>(from.gpu)].vertex;
  const VertexId b = graph.gpus()[static_cast<std::size_t>(to.gpu)].vertex;
  Transport out;
  if (rules.p2p_level && path_type(graph, a, b) > *rules.p2p_level) {
    const VertexId host = graph.cpu_of(b);
    out.kind = HopKind::pcie;
    append(out.into_slots, cluster, from.node, graph.pcie_route(a, host));
    append(out.into_slots, cluster, from.node, graph.pcie_route(host, b));
    return out;
  }
  std::vector<LinkId> route = graph.nvlink_route(a, b);
  out.kind = route.empty() ? HopKind::pcie : HopKind::nvlink;
  if (route.empty()) route = graph.pcie_route(a, b);
  append(out.into_slots, cluster, from.node, route);
  return out;
}

}  // namespace

TransportRules transport_rules(const SearchSettings& settings, NcclVersion version) {
  TransportRules rules;
  if (version >= kNccl2_27) {
    const bool is_2_27 = version < kNccl2_30;
    rules.c2c_nic = is_2_27 && settings.net_gdr_c2c ? PathType::c2c : PathType::p2c;
    if (!is_2_27 && settings.net_gdr_c2c) rules.gdr_level = PathType::p2c;
    rules.pxn_c2c = settings.pxn_c2c.value_or(!is_2_27);
  }
  rules.gdr_level = settings.net_gdr_level.value_or(rules.gdr_level);
  rules.gdr_read = settings.net_gdr_read;
  rules.pxn = !settings.pxn_disable;
  rules.p2p_level = settings.p2p_level;
  if (settings.p2p_disable) rules.p2p_level = PathType::loc;
  return rules;
}

Transport plan_transport(const Cluster& cluster, std::span<const int> gpus, Protocol protocol,
                         Endpoint from, Endpoint to, const TransportRules& rules,
                         std::optional<int> proxy_gpu) {
  if (from.node == to.node) {
    assert(from.gpu != to.gpu);
    return inside_node(cluster, from, to, rules);
  }
  const NodeGraph& graph = cluster.node();
  const GpuInfo& sender = graph.gpus()[static_cast<std::size_t>(from.gpu)];
  const GpuInfo& receiver = graph.gpus()[static_cast<std::size_t>(to.gpu)];
  const NicInfo& out_nic = graph.nics()[static_cast<std::size_t>(from.nic)];
  const NicInfo& in_nic = graph.nics()[static_cast<std::size_t>(to.nic)];

  Transport out;
  out.kind = HopKind::net;
  if (!proxy_gpu && rules.pxn) proxy_gpu = pxn_gpu(graph, gpus, sender, out_nic, rules);
  out.proxy_gpu = proxy_gpu.value_or(from.gpu);
  const GpuInfo& proxy = graph.gpus()[static_cast<std::size_t>(out.proxy_gpu)];
  const VertexId proxy_cpu = graph.cpu_of(proxy.vertex);
  const VertexId receiver_cpu = graph.cpu_of(receiver.vertex);
  out.sender_flag = latency(graph, graph.pcie_route(sender.vertex, proxy_cpu));
  out.receiver_flag = latency(graph, graph.pcie_route(receiver.vertex, receiver_cpu));

  if (protocol != Protocol::ll && gdr(graph, proxy, out_nic, rules) &&
      gdr_read(graph, gpus, proxy, rules)) {
    append(out.into_slots, cluster, from.node, graph.nvlink_route(sender.vertex, proxy.vertex));
    append(out.network, cluster, from.node, graph.pcie_route(proxy.vertex, out_nic.vertex));
  } else {
    append(out.into_slots, cluster, from.node, graph.pcie_route(sender.vertex, proxy_cpu));
    append(out.network, cluster, from.node, graph.pcie_route(proxy_cpu, out_nic.vertex));
  }
  const std::vector<LinkId> fabric =
      cluster.fabric_route(from.node, out_nic.vertex, to.node, in_nic.vertex);
  out.network.insert(out.network.end(), fabric.begin(), fabric.end());
  if (protocol != Protocol::ll && gdr(graph, receiver, in_nic, rules)) {
    append(out.network, cluster, to.node, graph.pcie_route(in_nic.vertex, receiver.vertex));
  } else {
    append(out.network, cluster, to.node, graph.pcie_route(in_nic.vertex, receiver_cpu));
    append(out.network, cluster, to.node, graph.pcie_route(receiver_cpu, receiver.vertex));
  }
  return out;
}

}  // namespace fabricast
