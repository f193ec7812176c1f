#pragma once
// What a message costs the proxy that sends it, by the kind of network.

#include "models/nccl/node/network.hpp"
#include "sim/links/post_cost.hpp"

namespace fabricast {

/// With helper threads a connection copies on its own; else on the proxy thread.
constexpr bool copies_alone(const NetworkSettings& network) {
  return network.kind == NetKind::sockets && network.sockets.threads > 0;
}

PostCost post_cost(const NetworkCosts& costs, const NetworkSettings& network, Protocol protocol);

}  // namespace fabricast
