#pragma once
// What lies at the two ends of a connection, as far as it decides whose memory holds its buffers
// (src/transport/{p2p,shm,net}.cc): plan_transport() says which links lie between.

#include <optional>
#include <span>
#include <tuple>

#include "models/nccl/call/transport.hpp"

namespace fabricast {

struct ConnectionEnds {
  HopKind kind{};
  int proxy_gpu = 0;  ///< network only: GPU whose process sends
  /// Network only: GPUDirect RDMA at either end; of LL, whose proxy reads what it sends, only at
  /// the receiver (src/transport/net.cc, sendProxyConnect and recvProxyConnect, 2.18 to 2.30).
  bool sends_gdr = false, receives_gdr = false;

  bool operator==(const ConnectionEnds&) const = default;
};

/// Arguments are those of plan_transport().
ConnectionEnds connection_ends(const Cluster& cluster, std::span<const int> gpus, Endpoint from,
                               Endpoint to, const TransportRules& rules,
                               std::optional<int> proxy_gpu = std::nullopt);

/// What rules say of the ways inside a node and to its NICs.
template <class Rules>
auto settings_of_ways(Rules& of) {
  return std::tie(of.gdr_level, of.c2c_nic, of.pxn_c2c, of.gdr_read, of.pxn, of.p2p_level);
}

/// Whether both rules find the same ways between any two of these GPUs of a node, and by any NIC to
/// another, over one network: which of them have GPUDirect RDMA, through which GPU others send.
/// What else rules say is not looked at (networks, traffic, domains).
bool has_same_ways(const Cluster& cluster, std::span<const int> gpus, const TransportRules& a,
                   const TransportRules& b);

}  // namespace fabricast
