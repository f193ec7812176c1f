#include "models/nccl/call/transport.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

#include "models/nccl/call/connection_ends.hpp"
#include "sim/links/machine.hpp"

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

bool gdr(const Cluster& cluster, int node, const GpuInfo& gpu, const NicInfo& nic,
         const TransportRules& rules) {
  const NetKind kind = rules.network.kind;
  const bool offered = kind != NetKind::sockets && cluster.offers_gdr(node);
  return offered && gpu.gdr && nic.gdr &&
         nic_distance(cluster.node(), gpu.vertex, nic.vertex, rules) <= rules.gdr_level;
}

const GpuInfo& gpu_info(const NodeGraph& graph, int gpu) {
  return graph.gpus()[static_cast<std::size_t>(gpu)];
}
const NicInfo& nic_info(const NodeGraph& graph, int nic) {
  return graph.nics()[static_cast<std::size_t>(nic)];
}

/// Before Ampere the NIC reads from a GPU only if other traffic has NVLink (src/graph/paths.cc).
bool gdr_read(const NodeGraph& graph, std::span<const int> gpus, const GpuInfo& gpu,
              const TransportRules& rules) {
  if (rules.gdr_read) return *rules.gdr_read;
  if (gpu.part.sm >= 80 || gpus.size() == 1) return true;
  for (const int i : gpus) {
    const VertexId other = gpu_info(graph, i).vertex;
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
    const GpuInfo& relay = gpu_info(graph, i);
    if (relay.vertex == from.vertex || !near(relay)) continue;
    if (!graph.nvlink_route(from.vertex, relay.vertex).empty()) return i;
  }
  return std::nullopt;
}

/// Through a buffer in host memory, and for sockets through one more of the operating system.
void append_bounce(std::vector<LinkId>& links, const Cluster& cluster, int node, VertexId cpu,
                   const TransportRules& rules) {
  const int buffers = rules.network.kind == NetKind::sockets ? 2 : 1;
  for (int i = 0; i < buffers; ++i) append(links, cluster, node, cluster.node().memory_route(cpu));
}

HopKind kind_inside_node(const NodeGraph& graph, VertexId from, VertexId to,
                         const TransportRules& rules) {
  if (rules.p2p_level && path_type(graph, from, to) > *rules.p2p_level) return HopKind::shm;
  return graph.nvlink_route(from, to).empty() ? HopKind::pcie : HopKind::nvlink;
}

/// What the step sends lies in host memory on its way.
bool is_in_host(const Cluster& cluster, int node, const GpuTraffic::Step& step,
                const TransportRules& rules) {
  const NodeGraph& graph = cluster.node();
  if (step.from == GpuTraffic::other_node || step.to == GpuTraffic::other_node) {
    const GpuInfo& near =
        gpu_info(graph, step.from == GpuTraffic::other_node ? step.to : step.from);
    return !gdr(cluster, node, near, nic_info(graph, step.nic), rules);
  }
  return kind_inside_node(graph, gpu_info(graph, step.from).vertex, gpu_info(graph, step.to).vertex,
                          rules) == HopKind::shm;
}

/// The GPU's blocks, which store to host memory or load from it, do the other, too.
bool is_duplex(const Cluster& cluster, Endpoint end, const TransportRules& rules) {
  using Step = GpuTraffic::Step;
  const GpuTraffic& traffic = rules.traffic;
  if (traffic.kind != GpuTraffic::Kind::rings) return traffic.kind != GpuTraffic::Kind::one_way;
  return std::ranges::any_of(traffic.rings, [&](const Step& out) {
    if (out.from != end.gpu || !is_in_host(cluster, end.node, out, rules)) return false;
    return std::ranges::any_of(traffic.rings, [&](const Step& in) {
      return in.to == end.gpu && in.channel == out.channel &&
             is_in_host(cluster, end.node, in, rules);
    });
  });
}

/// What its stores and its loads share.
void append_duplex(std::vector<LinkId>& links, const Cluster& cluster, Endpoint end,
                   const TransportRules& rules) {
  if (!is_duplex(cluster, end, rules)) return;
  const NodeGraph& graph = cluster.node();
  append(links, cluster, end.node,
         graph.duplex_route(gpu_info(graph, end.gpu).vertex,
                            rules.traffic.kind == GpuTraffic::Kind::trees));
}

/// A GPU's stores to host memory.
void append_store(std::vector<LinkId>& links, const Cluster& cluster, Endpoint from, VertexId cpu,
                  const TransportRules& rules) {
  const NodeGraph& graph = cluster.node();
  const VertexId gpu = gpu_info(graph, from.gpu).vertex;
  append(links, cluster, from.node, graph.pcie_route(gpu, cpu));
  append_duplex(links, cluster, from, rules);
}

/// And its loads from there.
void append_load(std::vector<LinkId>& links, const Cluster& cluster, VertexId cpu, Endpoint to,
                 const TransportRules& rules) {
  const NodeGraph& graph = cluster.node();
  const VertexId gpu = gpu_info(graph, to.gpu).vertex;
  append_duplex(links, cluster, to, rules);
  append(links, cluster, to.node, graph.load_route(cpu, gpu));
}

Transport inside_node(const Cluster& cluster, Endpoint from, Endpoint to,
                      const TransportRules& rules) {
  const NodeGraph& graph = cluster.node();
  const VertexId a = gpu_info(graph, from.gpu).vertex;
  const VertexId b = gpu_info(graph, to.gpu).vertex;
  Transport out;
  out.kind = kind_inside_node(graph, a, b, rules);
  if (out.kind == HopKind::shm) {
    const VertexId host = graph.cpu_of(b);
    append_store(out.into_slots, cluster, from, host, rules);
    append(out.into_slots, cluster, from.node, graph.memory_route(host));
    append_load(out.into_slots, cluster, host, to, rules);
    return out;
  }
  append(out.into_slots, cluster, from.node,
         out.kind == HopKind::nvlink ? graph.nvlink_route(a, b) : graph.pcie_route(a, b));
  return out;
}

bool in_one_domain(const TransportRules& rules, int a, int b) {
  const std::vector<int>& of = rules.domain_of;
  return of.empty() || of[static_cast<std::size_t>(a)] == of[static_cast<std::size_t>(b)];
}

int counterpart(const TransportRules& rules, Endpoint end) {
  const int domain = rules.domain_of[static_cast<std::size_t>(end.gpu)];
  return rules.domain_nics[static_cast<std::size_t>(domain)][static_cast<std::size_t>(end.nic)];
}

/// Nearest to the GPU; of several the one that has its number among them.
int nearest_nic(const NodeGraph& graph, int gpu) {
  const VertexId vertex = gpu_info(graph, gpu).vertex;
  std::vector<int> nearest;
  PathType least = PathType::dis;
  for (int i = 0; i < static_cast<int>(graph.nics().size()); ++i) {
    const PathType type =
        path_type(graph, vertex, graph.nics()[static_cast<std::size_t>(i)].vertex);
    if (type < least) nearest.clear();
    least = std::min(least, type);
    if (type == least) nearest.push_back(i);
  }
  assert(!nearest.empty());
  return nearest[static_cast<std::size_t>(gpu) % nearest.size()];
}

/// Below compute capability 9.0 (src/graph/paths.cc, ncclTopoNeedFlush).
bool needs_flush(const GpuInfo& gpu, const NetworkSettings& network) {
  return !network.flush_never && (network.flush_always || gpu.part.sm < 90);
}

/// Of a connection over the network. The NICs become those that are taken.
ConnectionEnds net_ends(const Cluster& cluster, std::span<const int> gpus, Endpoint& from,
                        Endpoint& to, const TransportRules& rules, std::optional<int> proxy_gpu) {
  const NodeGraph& graph = cluster.node();
  if (!rules.domain_nics.empty()) {
    from.nic = counterpart(rules, from);
    to.nic = counterpart(rules, to);
  } else if (from.node == to.node) {
    from.nic = nearest_nic(graph, from.gpu);
    to.nic = nearest_nic(graph, to.gpu);
    proxy_gpu = from.gpu;
  }
  const GpuInfo& sender = gpu_info(graph, from.gpu);
  const GpuInfo& receiver = gpu_info(graph, to.gpu);
  const NicInfo& exit = nic_info(graph, from.nic);
  if (!proxy_gpu && rules.pxn) proxy_gpu = pxn_gpu(graph, gpus, sender, exit, rules);
  ConnectionEnds out{HopKind::net, proxy_gpu.value_or(from.gpu)};
  const GpuInfo& proxy = gpu_info(graph, out.proxy_gpu);
  out.sends_gdr =
      gdr(cluster, from.node, proxy, exit, rules) && gdr_read(graph, gpus, proxy, rules);
  out.receives_gdr = gdr(cluster, to.node, receiver, nic_info(graph, to.nic), rules);
  return out;
}

}  // namespace

std::vector<std::uint32_t> side_by_side(const std::vector<std::vector<std::uint32_t>>& routes) {
  const std::vector<std::uint32_t>& first = routes.front();
  const auto count = static_cast<std::uint32_t>(routes.size());
  if (count == 1) return first;
  std::size_t least = first.size(), most = 0;
  for (const auto& route : routes) least = std::min(least, route.size());
  const auto all = [&](auto&& link_of) {
    return std::ranges::all_of(routes, [&](const auto& r) { return link_of(r) == link_of(first); });
  };
  std::size_t front = 0, back = 0;
  while (front < least && all([&](const auto& r) { return r[front]; })) ++front;
  while (front + back < least && all([&](const auto& r) { return r[r.size() - 1 - back]; })) ++back;
  for (const auto& route : routes) most = std::max(most, route.size() - back);
  std::vector<std::uint32_t> out(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(front));
  for (std::size_t step = front; step < most; ++step) {
    std::uint32_t beside = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (step >= routes[i].size() - back) continue;
      out.push_back(routes[i][step] | piece_mark(i, count) | beside);
      beside = kBeside;
    }
  }
  out.insert(out.end(), first.end() - static_cast<std::ptrdiff_t>(back), first.end());
  return out;
}

TransportRules transport_rules(const SearchSettings& settings, NcclVersion version) {
  TransportRules rules;
  if (version >= kNccl2_27) {
    const bool is_2_27 = version < kNccl2_29;
    rules.c2c_nic = is_2_27 && settings.net_gdr_c2c ? PathType::c2c : PathType::p2c;
    if (!is_2_27 && settings.net_gdr_c2c) rules.gdr_level = PathType::p2c;
    rules.pxn_c2c = settings.pxn_c2c.value_or(version >= kNccl2_28);
  }
  rules.gdr_level = settings.net_gdr_level.value_or(rules.gdr_level);
  rules.gdr_read = settings.net_gdr_read;
  rules.pxn = !settings.pxn_disable;
  rules.p2p_level = settings.p2p_level;
  if (settings.p2p_disable) rules.p2p_level = PathType::loc;
  return rules;
}

GpuTraffic traffic_of(Collective collective, int ranks) {
  const bool is_rooted = collective == Collective::broadcast || collective == Collective::reduce;
  const bool is_of_root_alone =
      collective == Collective::gather || collective == Collective::scatter;
  const bool is_one_way = is_of_root_alone || (is_rooted && ranks <= 2);
  return {is_one_way ? GpuTraffic::Kind::one_way : GpuTraffic::Kind::both_ways};
}

GpuTraffic ring_traffic(const ChannelGraph& graph, const Members& members) {
  GpuTraffic out{GpuTraffic::Kind::rings};
  const bool is_alone = members.node_count() == 1;
  for (int channel = 0; channel < graph.channel_count(); ++channel) {
    const GraphChannel& ring = graph.channels[static_cast<std::size_t>(channel)];
    const std::vector<int>& order = ring.gpu_order;
    const auto gpu = [&](std::size_t place) { return members.gpu(order[place]); };
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
      out.rings.push_back({channel, gpu(i), gpu(i + 1)});
    const int first = gpu(0), last = gpu(order.size() - 1);
    if (!is_alone) {
      out.rings.push_back({channel, GpuTraffic::other_node, first, ring.net_in});
      out.rings.push_back({channel, last, GpuTraffic::other_node, ring.net_out});
    } else if (first != last) {
      out.rings.push_back({channel, last, first});
    }
  }
  return out;
}

ConnectionEnds connection_ends(const Cluster& cluster, std::span<const int> gpus, Endpoint from,
                               Endpoint to, const TransportRules& rules,
                               std::optional<int> proxy_gpu) {
  const NodeGraph& graph = cluster.node();
  if (from.node != to.node || !in_one_domain(rules, from.gpu, to.gpu))
    return net_ends(cluster, gpus, from, to, rules, proxy_gpu);
  return {kind_inside_node(graph, gpu_info(graph, from.gpu).vertex, gpu_info(graph, to.gpu).vertex,
                           rules)};
}

bool has_same_ways(const Cluster& cluster, std::span<const int> gpus, const TransportRules& a,
                   const TransportRules& b) {
  if (settings_of_ways(a) == settings_of_ways(b)) return true;
  const NodeGraph& graph = cluster.node();
  const auto relay = [&](const GpuInfo& gpu, const NicInfo& nic, const TransportRules& rules) {
    return rules.pxn ? pxn_gpu(graph, gpus, gpu, nic, rules) : std::nullopt;
  };
  const auto is_near = [&](const GpuInfo& gpu, const NicInfo& nic, const TransportRules& rules) {
    return nic_distance(graph, gpu.vertex, nic.vertex, rules) <= rules.gdr_level;
  };
  return std::ranges::all_of(gpus, [&](int number) {
    const GpuInfo& gpu = gpu_info(graph, number);
    return gdr_read(graph, gpus, gpu, a) == gdr_read(graph, gpus, gpu, b) &&
           std::ranges::all_of(graph.nics(),
                               [&](const NicInfo& nic) {
                                 return is_near(gpu, nic, a) == is_near(gpu, nic, b) &&
                                        relay(gpu, nic, a) == relay(gpu, nic, b);
                               }) &&
           std::ranges::all_of(gpus, [&](int other) {
             const VertexId to = gpu_info(graph, other).vertex;
             return other == number || kind_inside_node(graph, gpu.vertex, to, a) ==
                                           kind_inside_node(graph, gpu.vertex, to, b);
           });
  });
}

Transport plan_transport(const Cluster& cluster, std::span<const int> gpus, Protocol protocol,
                         Endpoint from, Endpoint to, const TransportRules& rules,
                         std::optional<int> proxy_gpu) {
  const NodeGraph& graph = cluster.node();
  const bool in_one_node = from.node == to.node;
  assert(!in_one_node || from.gpu != to.gpu);
  if (in_one_node && in_one_domain(rules, from.gpu, to.gpu))
    return inside_node(cluster, from, to, rules);
  const ConnectionEnds ends = net_ends(cluster, gpus, from, to, rules, proxy_gpu);
  const GpuInfo& sender = gpu_info(graph, from.gpu);
  const GpuInfo& receiver = gpu_info(graph, to.gpu);
  const NicInfo& in_nic = nic_info(graph, to.nic);

  Transport out;
  out.kind = HopKind::net;
  out.proxy_gpu = ends.proxy_gpu;
  out.receives_gdr = ends.receives_gdr;
  const GpuInfo& proxy = gpu_info(graph, out.proxy_gpu);
  const VertexId proxy_cpu = graph.cpu_of(proxy.vertex);
  const VertexId receiver_cpu = graph.cpu_of(receiver.vertex);
  out.sender_flag = latency(graph, graph.pcie_route(sender.vertex, proxy_cpu));
  out.receiver_flag = latency(graph, graph.pcie_route(receiver.vertex, receiver_cpu));

  const bool bulk = protocol != Protocol::ll;  // LL is too little to load host memory
  const bool sends_gdr = bulk && ends.sends_gdr, receives_gdr = bulk && ends.receives_gdr;
  if (sends_gdr) {
    append(out.into_slots, cluster, from.node, graph.nvlink_route(sender.vertex, proxy.vertex));
  } else if (bulk) {
    append_store(out.into_slots, cluster, from, proxy_cpu, rules);
    append_bounce(out.into_slots, cluster, from.node, proxy_cpu, rules);
  } else {
    append(out.into_slots, cluster, from.node, graph.pcie_route(sender.vertex, proxy_cpu));
  }
  const auto route = [&](int from_nic, int to_nic) {
    const VertexId exit = nic_info(graph, from_nic).vertex, entry = nic_info(graph, to_nic).vertex;
    std::vector<LinkId> links;
    append(links, cluster, from.node, graph.pcie_route(sends_gdr ? proxy.vertex : proxy_cpu, exit));
    if (from.node != to.node || from_nic != to_nic) {
      const std::vector<LinkId> fabric = cluster.fabric_route(from.node, exit, to.node, entry);
      links.insert(links.end(), fabric.begin(), fabric.end());
    }
    if (receives_gdr) {
      append(links, cluster, to.node, graph.pcie_route(entry, receiver.vertex));
      return links;
    }
    append(links, cluster, to.node, graph.pcie_route(entry, receiver_cpu));
    if (bulk) {
      append_bounce(links, cluster, to.node, receiver_cpu, rules);
      append_load(links, cluster, receiver_cpu, to, rules);
    } else {
      append(links, cluster, to.node, graph.pcie_route(receiver_cpu, receiver.vertex));
    }
    return links;
  };
  // Queue pairs go round the NICs of either end.
  const std::vector<int> exits = rules.network.members(from.nic);
  const std::vector<int> entries = rules.network.members(to.nic);
  out.network = route(exits.front(), entries.front());
  for (std::size_t i = 1; i < std::max(exits.size(), entries.size()); ++i) {
    const int exit = exits[i % exits.size()], entry = entries[i % entries.size()];
    out.beside.push_back({exit, entry, route(exit, entry)});
  }
  // src/transport/net.cc, recvProxyProgress(): LL and LL128 carry flags with their data.
  if (protocol == Protocol::simple && receives_gdr && needs_flush(receiver, rules.network))
    out.flush = latency(graph, graph.pcie_route(in_nic.vertex, receiver.vertex)) +
                latency(graph, graph.pcie_route(receiver.vertex, in_nic.vertex));
  return out;
}

std::vector<LinkId> fabric_way(const Cluster& cluster, Endpoint from, Endpoint to) {
  const NodeGraph& node = cluster.node();
  return cluster.fabric_route(from.node, nic_info(node, from.nic).vertex, to.node,
                              nic_info(node, to.nic).vertex);
}

Transport MessagePlanner::plan(Protocol protocol, Endpoint from, Endpoint to,
                               std::optional<int> proxy_gpu) const {
  Transport out = plan_transport(cluster_, gpus_, protocol, from, to, rules_, proxy_gpu);
  const bool is_relayed = out.kind == HopKind::net && out.proxy_gpu != from.gpu;
  if (is_relayed) out.sender_flag = flag_to(out.proxy_gpu);
  return out;
}

/// One way, of all on its host but the relay itself.
Duration MessagePlanner::flag_to(int relay) const {
  const auto [at, is_new] = flags_.try_emplace(relay);
  if (!is_new) return at->second;
  const NodeGraph& graph = cluster_.node();
  const VertexId own = gpu_info(graph, relay).vertex, cpu = graph.cpu_of(own);
  std::int64_t all = 0, senders = 0;
  for (const int gpu : gpus_) {
    const VertexId vertex = gpu_info(graph, gpu).vertex;
    if (gpu == relay || graph.vertex(vertex).tray != graph.vertex(own).tray) continue;
    all += latency(graph, graph.pcie_route(vertex, cpu)).ps;
    ++senders;
  }
  return at->second = {all / std::max<std::int64_t>(senders, 1)};
}

}  // namespace fabricast
