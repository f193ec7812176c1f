#include "tests/digest/networks.hpp"

#include <vector>

#include "sim/base/random.hpp"
#include "sim/fluid/flow_network.hpp"
#include "sim/packet/packet_network.hpp"

namespace fabricast {
namespace {

constexpr Bandwidth kRate{50'000'000'000};

/// Twelve hosts on three leaves, joined by two spines.
struct TwoTiers {
  PacketNetwork net;
  std::vector<std::uint32_t> hosts, cables;

  explicit TwoTiers(const PacketConfig& config) : net(config) {
    const std::uint32_t spines[] = {net.add_switch(2), net.add_switch(2)};
    for (int leaf = 0; leaf < 3; ++leaf) {
      const std::uint32_t id = net.add_switch(1);
      for (const std::uint32_t spine : spines)
        cables.push_back(net.add_cable({id, spine, kRate, nanoseconds(600), nanoseconds(270)},
                                       nanoseconds(600)));
      for (int i = 0; i < 4; ++i) {
        hosts.push_back(net.add_host(nanoseconds(450)));
        net.add_cable({hosts.back(), id, kRate, nanoseconds(450), nanoseconds(25)},
                      nanoseconds(600));
      }
    }
  }

  NetworkOutcome outcome(const QueuePairSpec& common, std::uint32_t lanes) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      QueuePairSpec spec = common;
      spec.from = hosts[i];
      spec.to = hosts[i % 2 == 0 ? (i + 5) % 12 : 3 * (i % 4 == 1)];
      spec.number = i;
      spec.lane = i % lanes;
      if (spec.from == spec.to) spec.to = hosts[11];
      net.add_queue_pair(spec);
    }
    for (std::uint32_t i = 0; i < 12; ++i)
      net.send(i, Instant{std::int64_t{i} * 1'000'000}, Bytes{1'000'000 + 12'345 * i});
    net.run();
    return {net.digest(), net.now() - Instant{}};
  }
};

}  // namespace

NetworkOutcome flow_outcome() {
  Random random(1);
  FlowNetwork net;
  for (int i = 0; i < 20; ++i) net.add_link({{1'000'000'000 + random.below(1u << 30)}, {}});
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t links[] = {random.below(20), random.below(20), random.below(20)};
    const Bandwidth cap{random.below(3) == 0 ? 1 + random.below(1u << 29) : 0};
    net.add_flow({Instant{random.below(2'000'000'000)}, Bytes{random.below(1'000'000)}, links,
                  1 + random.below(5), static_cast<std::uint8_t>(random.below(3)), cap});
  }
  net.run_until(Instant{1'000'000'000});
  net.set_rate(7, {});
  net.run_until(Instant{3'000'000'000});
  net.set_rate(7, {123'456'789});
  net.run();
  return {net.digest(), net.now() - Instant{}};
}

NetworkOutcome roce_outcome() {
  PacketConfig config;
  config.headers = {82};
  config.flow_control = FlowControl::pause;
  config.pause.ingress_limit = {150'000};
  config.marking = {{50'000}, {200'000}, 0.2};
  TwoTiers tiers(config);
  tiers.net.set_loss(tiers.cables[0], 1e-3);
  QueuePairSpec common;
  common.dcqcn.emplace();
  common.retry.timeout = RetrySpec::infiniband(6);
  return tiers.outcome(common, 1);
}

NetworkOutcome infiniband_outcome() {
  PacketConfig config;
  config.spread = Spread::adaptive;
  config.lanes = {{1, 0}, {3, 0}};
  TwoTiers tiers(config);
  tiers.net.set_link_up(tiers.cables[1], Instant{20'000'000}, false);
  tiers.net.set_link_up(tiers.cables[1], Instant{60'000'000}, true);
  QueuePairSpec common;
  common.in_order = false;
  common.retry.timeout = RetrySpec::infiniband(6);
  return tiers.outcome(common, 2);
}

}  // namespace fabricast
