// How fast the network rungs are. Flow: a ring of steps over nodes with NICs and shared trunks,
// each flow starting when the one before it has arrived, and the same at random; counters: flows
// and shares per second. Packet: an all-to-all through one switch and through two tiers; counters:
// packets put on links and events per second.

#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "models/hardware/networks/fabric_nets.hpp"
#include "models/io/topologies/load.hpp"
#include "sim/base/random.hpp"

namespace fabricast {
namespace {

void rate_counter(benchmark::State& state, const char* name, std::uint64_t count) {
  state.counters[name] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
}

/// Argument: nodes. Every rail of every node passes 20 chunks on to the next node; static ways.
void flow_ring(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = load_cluster({"dgx-h100", nodes, {}}, load_catalogue());
  constexpr int steps = 20;
  std::uint64_t flows = 0, shares = 0;
  for (auto _ : state) {
    FlowNetwork net = flow_network(cluster);
    std::vector<std::vector<std::uint32_t>> links;
    for (int node = 0; node < nodes; ++node) {
      for (const NicInfo& nic : cluster.node().nics()) {
        links.emplace_back();
        for (const LinkId link :
             cluster.fabric_route(node, nic.vertex, (node + 1) % nodes, nic.vertex))
          links.back().push_back(index_of(link));
      }
    }
    std::vector<std::uint32_t> port_of;
    const auto add = [&](std::uint32_t port, Instant start) {
      net.add_flow({start, Bytes{1'000'000 + 1'000 * (port % 7)}, links[port], 1, 0, {}});
      port_of.push_back(port);
    };
    for (std::uint32_t port = 0; port < links.size(); ++port) add(port, {});
    const std::size_t all = steps * links.size();
    net.run([&](std::uint32_t flow) {
      if (port_of.size() < all) add(port_of[flow], net.arrived(flow));
    });
    flows += port_of.size();
    shares += net.shares_computed();
  }
  rate_counter(state, "flows/s", flows);
  rate_counter(state, "shares/s", shares);
}
BENCHMARK(flow_ring)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Argument: nodes. 20 rounds of every NIC to a random one by hashed ways: collisions tie flows
/// together all over the fabric.
void flow_random(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = load_cluster({"dgx-h100", nodes, {}}, load_catalogue());
  std::uint64_t flows = 0, shares = 0;
  for (auto _ : state) {
    FlowNetwork net = flow_network(cluster);
    Random random(1);
    std::vector<std::pair<int, VertexId>> from;
    const auto add = [&](int node, VertexId nic, Instant start) {
      const auto others = static_cast<std::uint32_t>(nodes - 1);
      const int to = (node + 1 + static_cast<int>(random.below(others))) % nodes;
      std::vector<std::uint32_t> links;
      for (const LinkId link : cluster.hashed_route(node, nic, to, nic, random.below(1'000)))
        links.push_back(index_of(link));
      net.add_flow({start, Bytes{500'000 + random.below(1'000'000)}, links, 1, 0, {}});
      from.emplace_back(node, nic);
    };
    for (int node = 0; node < nodes; ++node)
      for (const NicInfo& nic : cluster.node().nics()) add(node, nic.vertex, {});
    const std::size_t all = 20 * from.size();
    net.run([&](std::uint32_t flow) {
      const auto [node, nic] = from[flow];
      if (from.size() < all) add(node, nic, net.arrived(flow));
    });
    flows += from.size();
    shares += net.shares_computed();
  }
  rate_counter(state, "flows/s", flows);
  rate_counter(state, "shares/s", shares);
}
BENCHMARK(flow_random)->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Argument: hosts. Everybody sends to everybody at once: one component of hosts^2 flows.
void flow_all_to_all(benchmark::State& state) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0));
  std::uint64_t flows = 0;
  for (auto _ : state) {
    FlowNetwork net;
    for (std::uint32_t i = 0; i < 2 * hosts; ++i) net.add_link({{50'000'000'000}, {}});
    for (std::uint32_t a = 0; a < hosts; ++a) {
      for (std::uint32_t b = 0; b < hosts; ++b) {
        if (a == b) continue;
        const std::uint32_t links[] = {a, hosts + b};
        net.add_flow({{}, Bytes{1'000'000}, links, 1, 0, {}});
        ++flows;
      }
    }
    net.run();
  }
  rate_counter(state, "flows/s", flows);
}
BENCHMARK(flow_all_to_all)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

/// Argument: nodes on a rail-optimised two-tier fabric. Rail 0 sends to all others, across leaves.
template <FlowControl kControl>
void packet_all_to_all(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Cluster cluster = load_cluster({"dgx-h100", nodes, {}}, load_catalogue());
  std::uint64_t packets = 0, events = 0;
  for (auto _ : state) {
    PacketConfig config;
    config.flow_control = kControl;
    config.spread = Spread::adaptive;
    PacketFabric fabric = packet_fabric(cluster, config);
    const std::size_t rails = cluster.node().nics().size();
    std::uint32_t pairs = 0;
    for (std::size_t a = 0; a < static_cast<std::size_t>(nodes); ++a) {
      for (std::size_t b = 0; b < static_cast<std::size_t>(nodes); ++b) {
        if (a == b) continue;
        QueuePairSpec spec;
        spec.from = fabric.hosts[a * rails];
        spec.to = fabric.hosts[b * rails + 1];
        spec.in_order = false;
        fabric.net.add_queue_pair(spec);
        ++pairs;
      }
    }
    for (std::uint32_t pair = 0; pair < pairs; ++pair) fabric.net.send(pair, {}, {1 << 20});
    fabric.net.run();
    packets += fabric.net.packets();
    events += fabric.net.events();
  }
  rate_counter(state, "packets/s", packets);
  rate_counter(state, "events/s", events);
}
BENCHMARK(packet_all_to_all<FlowControl::credits>)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(packet_all_to_all<FlowControl::pause>)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricast
