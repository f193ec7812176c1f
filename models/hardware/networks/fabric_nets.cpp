#include "models/hardware/networks/fabric_nets.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

FlowNetwork flow_network(const Cluster& cluster) {
  FlowNetwork net;
  for (std::uint32_t id = 0; id < cluster.links(); ++id) {
    const ClusterLink link = cluster.link(LinkId{id});
    net.add_link({link.rate, link.latency});
  }
  return net;
}

PacketFabric packet_fabric(const Cluster& cluster, PacketConfig config, const EcmpSeeds& seeds,
                           PortModel ports) {
  const bool whole = ports == PortModel::whole;
  const NodeGraph& node = cluster.node();
  config.payload = cluster.fabric().leaf.packet_payload;
  config.headers = cluster.fabric().leaf.packet_headers;
  const auto payload = static_cast<double>(config.payload.count);
  const double on_wire = 1 + static_cast<double>(config.headers.count) / payload;
  PacketFabric out{PacketNetwork(std::move(config)),
                   {},
                   static_cast<std::size_t>(node.nics_per_tray()),
                   index_of(cluster.first_fabric_link())};
  for (int i = 0; i < cluster.nodes(); ++i)
    for (const NicInfo& nic : node.nics())
      out.hosts.push_back(out.net.add_host(whole ? nic.part.latency : Duration{}));

  constexpr SwitchTier tiers[] = {SwitchTier::leaf, SwitchTier::spine, SwitchTier::core};
  std::vector<std::uint32_t> first;
  for (const SwitchTier tier : tiers) {
    const std::uint64_t seed = tier == SwitchTier::leaf ? seeds.first : seeds.second;
    first.push_back(static_cast<std::uint32_t>(out.hosts.size()));
    for (std::size_t i = 1; i < first.size(); ++i)
      first.back() += cluster.layout().switches(tiers[i - 1]);
    for (std::uint32_t i = 0; i < cluster.layout().switches(tier); ++i) out.net.add_switch(seed);
  }
  struct Port {
    std::uint32_t vertex;
    Bandwidth rate;
    Duration latency;
  };
  const auto port = [&](const Cluster::FabricEnd& end) -> Port {
    if (!end.is_switch) {
      const NicInfo& nic = node.nics()[end.rail];
      return {out.host(end), nic.speed, nic.part.latency};
    }
    const FabricSwitchPart& part = cluster.switch_part(end.which.tier);
    const auto tier = static_cast<std::size_t>(end.which.tier);
    return {first[tier] + end.which.index, part.port_rate, part.latency};
  };
  for (std::uint32_t id = out.first_link; id < cluster.cables(); ++id) {
    const Port from = port(cluster.link_from(LinkId{id})), to = port(cluster.link_to(LinkId{id}));
    const ClusterLink link = cluster.link(LinkId{id});
    const double wire_rate = static_cast<double>(link.rate.bytes_per_s) * on_wire;
    const Bandwidth rate =
        whole ? std::min(from.rate, to.rate) : Bandwidth{std::llround(wire_rate)};
    out.net.add_link({from.vertex, to.vertex, rate, from.latency, link.latency - from.latency});
  }
  return out;
}

std::vector<std::uint32_t> add_spread_flow(FlowNetwork& net, const Cluster& cluster, int from_node,
                                           VertexId from_nic, int to_node, VertexId to_nic,
                                           Instant start, Bytes size) {
  const std::uint32_t ways = cluster.fabric_ways(from_node, from_nic, to_node, to_nic);
  std::vector<std::uint32_t> flows;
  Bytes left = size;
  for (std::uint32_t way = 0; way < ways; ++way) {
    std::vector<std::uint32_t> links;
    for (const LinkId link : cluster.fabric_way(from_node, from_nic, to_node, to_nic, way))
      links.push_back(index_of(link));
    const Bytes part{left.count / (ways - way)};
    left = left - part;
    flows.push_back(net.add_flow({start, part, links, 1, 0, {}}));
  }
  return flows;
}

}  // namespace fabricast
