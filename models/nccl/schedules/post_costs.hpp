#pragma once
// What a message costs the proxies that send and receive it, by the kind of network.

#include "models/hardware/node/node_graph.hpp"
#include "models/nccl/node/network.hpp"
#include "sim/links/post_cost.hpp"

namespace fabricast {

/// With helper threads a connection copies on its own; else on the proxy thread.
constexpr bool copies_alone(const NetworkSettings& network) {
  return network.kind == NetKind::sockets && network.sockets.threads > 0;
}

/// Whether a message passes the receiver's proxy as it passes the sender's: through sockets both
/// copy it. NICs write to the slots of the others by themselves, but for LL that the host matches:
/// the receiver copies it `into_gpu`, and the sender is busy with it once it has gone, too.
constexpr bool passes_receiver(const NetworkCosts& costs, const NetworkSettings& network,
                               Protocol protocol, bool into_gpu) {
  return costs.copy_rate.bytes_per_s > 0 ||
         (network.matches_in_software && into_gpu && protocol == Protocol::ll);
}

/// The costs of a network on these hosts: how fast proxies read LL flags is up to their CPUs.
NetworkCosts network_costs(const SoftwareCosts& software, const NodeGraph& node, NetKind kind);

/// `into_gpu`: it arrives in GPU memory, so that a host that matches messages copies it there.
PostCost post_cost(const NetworkCosts& costs, const NetworkSettings& network, Protocol protocol,
                   bool into_gpu = true);

/// Of the proxy that receives, for a slot that it posts; of what passes it, for that, too.
PostCost receipt_cost(const NetworkCosts& costs, const NetworkSettings& network, Protocol protocol);

}  // namespace fabricast
