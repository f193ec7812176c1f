#pragma once
// What a message costs the proxies that send and receive it, by the kind of network.

#include "models/nccl/node/network.hpp"
#include "sim/links/post_cost.hpp"

namespace fabricast {

/// With helper threads a connection copies on its own; else on the proxy thread.
constexpr bool copies_alone(const NetworkSettings& network) {
  return network.kind == NetKind::sockets && network.sockets.threads > 0;
}

/// Through sockets the receiver's proxy copies, too: a message passes it as it passes the sender's.
/// NICs write to the slots of the others by themselves.
constexpr bool copies_at_receiver(const NetworkCosts& costs) {
  return costs.copy_rate.bytes_per_s > 0;
}

/// `into_gpu`: it arrives in GPU memory, so that a host that matches messages copies it there.
PostCost post_cost(const NetworkCosts& costs, const NetworkSettings& network, Protocol protocol,
                   bool into_gpu = true);

/// Of the proxy that receives.
PostCost receipt_cost(const NetworkCosts& costs, const NetworkSettings& network);

}  // namespace fabricast
