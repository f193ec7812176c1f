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

bool near(const NodeGraph& graph, VertexId gpu, VertexId nic) {
  const SmiPath path = graph.smi_path(gpu, nic);
  return path == SmiPath::pix || path == SmiPath::pxb;
}

bool gdr(const NodeGraph& graph, const GpuInfo& gpu, const NicInfo& nic) {
  return gpu.gdr && nic.gdr && near(graph, gpu.vertex, nic.vertex);
}

/// The GPU through which a far one sends: next to the NIC and joined by NVLink.
std::optional<int> pxn_gpu(const NodeGraph& graph, int gpus_used, const GpuInfo& from,
                           const NicInfo& nic) {
  if (near(graph, from.vertex, nic.vertex)) return std::nullopt;
  for (int i = 0; i < gpus_used; ++i) {
    const GpuInfo& relay = graph.gpus()[static_cast<std::size_t>(i)];
    if (relay.vertex == from.vertex || !near(graph, relay.vertex, nic.vertex)) continue;
    if (!graph.nvlink_route(from.vertex, relay.vertex).empty()) return i;
  }
  return std::nullopt;
}

Transport inside_node(const Cluster& cluster, Endpoint from, Endpoint to) {
  const NodeGraph& graph = cluster.node();
  const VertexId a = graph.gpus()[static_cast<std::size_t>(from.gpu)].vertex;
  const VertexId b = graph.gpus()[static_cast<std::size_t>(to.gpu)].vertex;
  Transport out;
  std::vector<LinkId> route = graph.nvlink_route(a, b);
  out.kind = route.empty() ? HopKind::pcie : HopKind::nvlink;
  if (route.empty()) route = graph.pcie_route(a, b);
  append(out.into_slots, cluster, from.node, route);
  return out;
}

}  // namespace

Transport plan_transport(const Cluster& cluster, int gpus_used, Protocol protocol, Endpoint from,
                         Endpoint to) {
  if (from.node == to.node) {
    assert(from.gpu != to.gpu);
    return inside_node(cluster, from, to);
  }
  const NodeGraph& graph = cluster.node();
  const GpuInfo& sender = graph.gpus()[static_cast<std::size_t>(from.gpu)];
  const GpuInfo& receiver = graph.gpus()[static_cast<std::size_t>(to.gpu)];
  const NicInfo& out_nic = graph.nics()[static_cast<std::size_t>(from.nic)];
  const NicInfo& in_nic = graph.nics()[static_cast<std::size_t>(to.nic)];

  Transport out;
  out.kind = HopKind::net;
  out.proxy_gpu = pxn_gpu(graph, gpus_used, sender, out_nic).value_or(from.gpu);
  const GpuInfo& proxy = graph.gpus()[static_cast<std::size_t>(out.proxy_gpu)];
  const VertexId proxy_cpu = graph.cpu_of(proxy.vertex);
  const VertexId receiver_cpu = graph.cpu_of(receiver.vertex);
  out.sender_flag = latency(graph, graph.pcie_route(sender.vertex, proxy_cpu));
  out.receiver_flag = latency(graph, graph.pcie_route(receiver.vertex, receiver_cpu));

  if (protocol != Protocol::ll && gdr(graph, proxy, out_nic)) {
    append(out.into_slots, cluster, from.node, graph.nvlink_route(sender.vertex, proxy.vertex));
    append(out.network, cluster, from.node, graph.pcie_route(proxy.vertex, out_nic.vertex));
  } else {
    append(out.into_slots, cluster, from.node, graph.pcie_route(sender.vertex, proxy_cpu));
    append(out.network, cluster, from.node, graph.pcie_route(proxy_cpu, out_nic.vertex));
  }
  const std::vector<LinkId> fabric =
      cluster.fabric_route(from.node, out_nic.vertex, to.node, in_nic.vertex);
  out.network.insert(out.network.end(), fabric.begin(), fabric.end());
  if (protocol != Protocol::ll && gdr(graph, receiver, in_nic)) {
    append(out.network, cluster, to.node, graph.pcie_route(in_nic.vertex, receiver.vertex));
  } else {
    append(out.network, cluster, to.node, graph.pcie_route(in_nic.vertex, receiver_cpu));
    append(out.network, cluster, to.node, graph.pcie_route(receiver_cpu, receiver.vertex));
  }
  return out;
}

}  // namespace fabricast
