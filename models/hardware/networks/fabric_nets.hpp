#pragma once
// A cluster as a network of the flow rung or the packet rung.

#include <cstdint>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "sim/fluid/flow_network.hpp"
#include "sim/packet/packet_network.hpp"

namespace fabricast {

/// Every link of the cluster under its own number, at payload rate.
FlowNetwork flow_network(const Cluster& cluster);

/// The fabric alone, port to port: NICs are hosts. Ports run at line rate, headers are packets'.
struct PacketFabric {
  PacketNetwork net;
  std::vector<std::uint32_t> hosts;  ///< by host x NICs of a host + rail
  std::size_t nics_per_host = 1;
  std::uint32_t first_link = 0;  ///< cluster link l is l - first_link here

  /// REQUIRES: no switch.
  std::uint32_t host(const Cluster::FabricEnd& end) const {
    return hosts[end.host * nics_per_host + end.rail];
  }
};
enum class PortModel : std::uint8_t {
  whole,        ///< ports at line rate; a NIC's latency on both sides
  within_nodes  ///< links as the cluster has them, behind which the rest of a node is simulated
};
/// `config` with the packet of the fabric's leaf switch.
PacketFabric packet_fabric(const Cluster& cluster, PacketConfig config, const EcmpSeeds& seeds = {},
                           PortModel ports = PortModel::whole);

/// One transfer from NIC to NIC as fluids over all shortest ways, an even split: what adaptive
/// routing and spraying come to.
std::vector<std::uint32_t> add_spread_flow(FlowNetwork& net, const Cluster& cluster, int from_node,
                                           VertexId from_nic, int to_node, VertexId to_nic,
                                           Instant start, Bytes size);

}  // namespace fabricast
