#pragma once
// Small packet networks that several tests use.

#include <vector>

#include "sim/packet/packet_network.hpp"
#include "tests/unit/sim/fabric_vectors.hpp"

namespace fabricast {

/// How long light takes through so much cable.
inline Duration metres(std::int64_t length) { return nanoseconds(5 * length); }

inline QueuePairSpec queue_pair(std::uint32_t from, std::uint32_t to, std::uint32_t number = 0) {
  QueuePairSpec spec;
  spec.from = from;
  spec.to = to;
  spec.number = number;
  return spec;
}

/// Hosts on one switch. Links carry no latency unless said so.
struct Star {
  PacketNetwork net;
  std::uint32_t center;
  std::vector<std::uint32_t> hosts, up, down;  ///< links to and from the switch

  Star(const PacketConfig& config, int count, Bandwidth rate, Duration propagation = {})
      : net(config), center(net.add_switch()) {
    for (int i = 0; i < count; ++i) {
      hosts.push_back(net.add_host());
      up.push_back(net.add_cable({hosts.back(), center, rate, {}, propagation}, {}));
      down.push_back(up.back() + 1);
    }
  }
};

inline PacketConfig ethernet() {
  PacketConfig config;
  config.headers = {82};
  config.flow_control = FlowControl::pause;
  return config;
}

/// Whole payload, no headers: what the closed forms count in.
inline PacketConfig bare(PacketConfig config) {
  config.headers = {};
  return config;
}

}  // namespace fabricast
