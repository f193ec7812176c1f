// Goal: three-tier trees and dragonflies have the cables, ways, latencies and limits that their
// figures give, cables grow with the distance of racks, and fabric vectors that are about where
// traffic crosses come out of the routes (T-22, T-72, T-120, T-121).
// Method: routes as chains of link ends on all or random pairs; latencies summed by hand; counts by
// arithmetic; the flow and packet rungs on clusters.

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "models/hardware/networks/fabric_nets.hpp"
#include "models/io/topologies/load.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/hardware/cluster_ways.hpp"
#include "tests/unit/sim/fabric_vectors.hpp"

using namespace fabricast;

namespace {

Cluster cluster_of(int nodes, const std::string& fabric,
                   Routing routing = Routing::by_destination) {
  TopologyRequest asked{"dgx-h100", nodes, fabric};
  asked.routing = routing;
  return load_cluster(asked, load_catalogue());
}

/// From NIC to NIC without a gap, no switch twice.
void check_chain(const Cluster& cluster, const std::vector<LinkId>& route) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    const Cluster::FabricEnd end = cluster.link_to(route[i]),
                             next = cluster.link_from(route[i + 1]);
    REQUIRE(end.is_switch);
    CHECK(end.which == next.which);
    CHECK(seen.insert(cluster.layout().name(end.which)).second);
  }
  CHECK_FALSE(cluster.link_from(route.front()).is_switch);
  CHECK_FALSE(cluster.link_to(route.back()).is_switch);
}

/// A plain tree of one-rail leaves, by key; `more` goes before the cables.
std::string cluster_text(const std::string& shape, const std::string& more) {
  return "kind: cluster\nname: test\nnode: dgx-h100\nnodes: 40\nfabric:\n  shape: " + shape +
         "\n  leaf: QM9700\n"
         "  nodes_per_rack: {value: 4, source: model, status: assumed}\n" +
         more +
         "  node_leaf: {cable: copper, length: {value: 5 m, source: model, status: assumed}}\n";
}

std::string figure(const std::string& key, const std::string& value) {
  return "  " + key + ": {value: " + value + ", source: model, status: assumed}\n";
}

std::string cable(const std::string& key, const std::string& metres) {
  return "  " + key + ": {cable: optical, length: {value: " + metres +
         " m, source: model, status: assumed}}\n";
}

}  // namespace

TEST_CASE("every way of every fabric is a chain of links from NIC to NIC") {
  Random random(1);
  for (const char* fabric : {"fabric-ndr-rail", "fabric-ndr-fat-tree-2to1", "fabric-ndr-rail-3tier",
                             "fabric-spectrum-rail-7to1", "fabric-dragonfly"}) {
    CAPTURE(fabric);
    const bool tiers = std::string(fabric) != "fabric-ndr-rail";
    const int nodes = tiers && std::string(fabric) != "fabric-ndr-fat-tree-2to1" ? 400 : 100;
    const Cluster cluster = cluster_of(nodes, fabric);
    for (int i = 0; i < 100; ++i) {
      const int a = static_cast<int>(random.below(static_cast<std::uint32_t>(nodes)));
      const int b = static_cast<int>(random.below(static_cast<std::uint32_t>(nodes)));
      const VertexId from = nic(cluster, random.below(8)), to = nic(cluster, random.below(8));
      if (a == b) continue;
      const std::uint32_t ways = cluster.fabric_ways(a, from, b, to);
      std::set<std::vector<std::uint32_t>> different;
      for (std::uint32_t way = 0; way < ways; ++way) {
        const std::vector<LinkId> route = cluster.fabric_way(a, from, b, to, way);
        check_chain(cluster, route);
        std::vector<std::uint32_t> ids;
        for (const LinkId id : route) ids.push_back(index_of(id));
        different.insert(ids);
      }
      CHECK(different.size() == ways);
      const auto is_one = [&](const std::vector<LinkId>& route) {
        std::vector<std::uint32_t> ids;
        for (const LinkId id : route) ids.push_back(index_of(id));
        return different.count(ids) == 1;
      };
      CHECK(is_one(cluster.fabric_route(a, from, b, to)));
      CHECK(is_one(cluster.hashed_route(a, from, b, to, 7)));
    }
  }
}

TEST_CASE("adaptive routing takes the equal cables of each switch on the way as one link") {
  Random random(4);
  for (const char* fabric : {"fabric-ndr-rail", "fabric-ndr-rail-3tier", "fabric-ndr-fat-tree-2to1",
                             "fabric-spectrum-rail-7to1"}) {
    CAPTURE(fabric);
    const int nodes = std::string(fabric).find("tier") != std::string::npos ? 400 : 100;
    const Cluster fixed = cluster_of(nodes, fabric);
    Cluster cluster = cluster_of(nodes, fabric, Routing::adaptive);
    CHECK_FALSE(fixed.pools_cables());
    CHECK(fixed.links() == cluster.cables());
    for (int i = 0; i < 50; ++i) {
      const int a = static_cast<int>(random.below(static_cast<std::uint32_t>(nodes)));
      const int b = static_cast<int>(random.below(static_cast<std::uint32_t>(nodes)));
      if (a == b) continue;
      const VertexId from = nic(cluster, random.below(8)), to = nic(cluster, random.below(8));
      const std::vector<LinkId> pools = cluster.fabric_route(a, from, b, to);
      check_chain(cluster, pools);
      // Each is as wide as all cables that the ways have at this place, and as far.
      const std::uint32_t ways = cluster.fabric_ways(a, from, b, to);
      for (std::size_t hop = 0; hop < pools.size(); ++hop) {
        std::set<std::uint32_t> cables;
        std::int64_t rate = 0;
        for (std::uint32_t way = 0; way < ways; ++way) {
          const LinkId cable = cluster.fabric_way(a, from, b, to, way)[hop];
          if (cables.insert(index_of(cable)).second) rate += cluster.link(cable).rate.bytes_per_s;
          CHECK(cluster.link(cable).latency == cluster.link(pools[hop]).latency);
        }
        const ClusterLink pool = cluster.link(pools[hop]);
        CHECK(pool.lanes == std::ssize(cables));
        CHECK(pool.rate.bytes_per_s == rate);
        CHECK(cluster.is_pool(pools[hop]) == cluster.is_trunk(pools[hop]));
      }
      if (pools.size() == 2) continue;
      // A cable that is slow takes from its pool what it lost.
      const LinkId cable = cluster.fabric_way(a, from, b, to, 0)[1];
      const Bandwidth pool = cluster.link(pools[1]).rate, whole = cluster.link(cable).rate;
      cluster.set_rate(cable, {whole.bytes_per_s / 4});
      CHECK(cluster.link(pools[1]).rate.bytes_per_s ==
            pool.bytes_per_s - whole.bytes_per_s + whole.bytes_per_s / 4);
      cluster.set_rate(cable, whole);
    }
  }
}

TEST_CASE("every cable of a fabric has two directions, and no port has two cables") {
  for (const char* fabric : {"fabric-ndr-rail-3tier", "fabric-dragonfly"}) {
    const Cluster cluster = cluster_of(300, fabric);
    std::map<std::pair<std::string, std::string>, int> cables;
    std::map<std::string, int> ports;
    for (std::uint32_t id = index_of(cluster.first_fabric_link()); id < cluster.links(); ++id) {
      const auto name = [&](const Cluster::FabricEnd& end) {
        if (end.is_switch) return cluster.layout().name(end.which);
        return std::to_string(end.host) + "/" + std::to_string(end.rail);
      };
      const std::string from = name(cluster.link_from(LinkId{id}));
      const std::string to = name(cluster.link_to(LinkId{id}));
      ++cables[{from, to}];
      ++ports[from];
    }
    for (const auto& [ends, count] : cables) CHECK(cables[{ends.second, ends.first}] == count);
    for (const auto& [end, count] : ports) CHECK(count <= 64);
  }
}

TEST_CASE("a three-tier tree: counts, latency over five switches, static ways spread") {
  const Cluster cluster = cluster_of(512, "fabric-ndr-rail-3tier");
  // 16 leaves of each of 8 rails; 4 pods of 32 spines; each spine has 32 links to cores.
  CHECK(cluster.fabric_summary() ==
        "rail-optimised three-tier fat-tree, non-blocking, 128 leaves (QM9700 at 400 Gb/s), "
        "128 spines, 1024 cores (non-blocking), static routing");
  const auto links = [&](int a, int b) {
    return cluster.fabric_route(a, nic(cluster, 0), b, nic(cluster, 0)).size();
  };
  CHECK(links(0, 31) == 2);
  CHECK(links(0, 32) == 4);
  CHECK(links(0, 127) == 4);
  CHECK(links(0, 128) == 6);
  CHECK(cluster.fabric_ways(0, nic(cluster, 0), 128, nic(cluster, 0)) == 32 * 32);
  // All that leaves one leaf for a full leaf of another pod takes uplinks of its own all the way.
  std::map<std::uint32_t, int> used;
  for (int node = 0; node < 32; ++node)
    for (const LinkId id : cluster.fabric_route(node, nic(cluster, 0), 128 + node, nic(cluster, 0)))
      ++used[index_of(id)];
  for (const auto& [link, flows] : used) CHECK(flows == 1);
}

TEST_CASE("cables grow with the distance of racks, along the row and across rows") {
  const std::string common = figure("leaf_down", "40") + figure("oversubscription", "2");
  const std::string racks =
      figure("rack_pitch", "0.6 m") + figure("racks_per_row", "4") + figure("row_pitch", "3 m");
  const auto cluster = [&](const std::string& more) {
    return parse_cluster(cluster_text("fat_tree", common + more + cable("leaf_spine", "10")), "t",
                         {}, load_catalogue());
  };
  const Cluster flat = cluster(""), spread = cluster(racks);
  // 5 nodes a leaf, 4 nodes a rack: the leaf of nodes 30-34 stands with node 32 in rack 8 = row 2,
  // place 0; node 30 is in rack 7 = row 1, place 3: 3 x 0.6 m along and 3 m across more.
  const auto first = [&](const Cluster& c) {
    return c.link(c.fabric_route(30, nic(c, 0), 0, nic(c, 0)).front()).latency;
  };
  CHECK(first(flat) == nanoseconds(450 + 25));
  CHECK(first(spread) == first(flat) + Duration{4'800 * 5});
  // Spines stand with node 19, the middle one of 40, in rack 4 = row 1, place 0.
  const auto up = [&](const Cluster& c) {
    return c.link(c.fabric_route(30, nic(c, 0), 0, nic(c, 0))[1]).latency;
  };
  CHECK(up(flat) == nanoseconds(220 + 50 + 120));
  CHECK(up(spread) == up(flat) + Duration{3'000 * 5});
}

TEST_CASE("a dragonfly: groups, cables between them, and at most three switch hops") {
  const Cluster cluster = cluster_of(512, "fabric-dragonfly");
  // 2 nodes a switch, 16 switches a group: 16 groups, 256 global ports each, 17 to each other one.
  CHECK(cluster.fabric_summary() ==
        "dragonfly, 16 groups of 16 switches (QM9700 at 400 Gb/s), 2040 cables between groups, "
        "static "
        "routing");
  CHECK(cluster.fabric_ways(0, nic(cluster, 0), 511, nic(cluster, 0)) == 17);
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    const int a = static_cast<int>(random.below(512)), b = static_cast<int>(random.below(512));
    if (a == b) continue;
    const auto route = cluster.fabric_route(a, nic(cluster, 0), b, nic(cluster, 0));
    if (a / 2 == b / 2) CHECK(route.size() == 2);
    if (a / 2 != b / 2 && a / 32 == b / 32) CHECK(route.size() == 3);
    CHECK(route.size() <= 5);
  }
  // Inside a group: NIC, 3 m, switch, 5 m, switch, 3 m.
  const auto route = cluster.fabric_route(0, nic(cluster, 0), 2, nic(cluster, 0));
  CHECK(latency(cluster, route) == nanoseconds(450 + 15 + 220 + 25 + 220 + 15));
}

TEST_CASE("what a fabric cannot hold is said with its figures") {
  const auto refusal = [](const std::string& text, int nodes) {
    return error_text([&] { parse_cluster(text, "t.yaml", {"", nodes, ""}, load_catalogue()); });
  };
  const std::string tree = figure("leaf_down", "32") + figure("oversubscription", "1") +
                           cable("leaf_spine", "10") + cable("spine_core", "50") +
                           figure("core_oversubscription", "1");
  CHECK(refusal(cluster_text("rail_optimised", tree + figure("pod_leaves", "5")), 512) ==
        "t.yaml:6: fabric: a spine needs 80 ports (40 down, 40 up), QM9700 has 64\n"
        "hint: fewer pod_leaves or more core_oversubscription");
  CHECK(refusal(cluster_text("rail_optimised", tree + figure("pod_leaves", "1")), 32 * 65) ==
        "t.yaml:6: fabric: 2080 nodes need 65 pods, the core switch QM9700 has 64 ports\n"
        "hint: larger pods, or a switch with more ports");
  const std::string dragonfly = figure("leaf_down", "8") + figure("group_switches", "2") +
                                cable("local", "5") + cable("global", "50");
  CHECK(refusal(cluster_text("dragonfly", dragonfly + figure("global_ports", "1")), 8) ==
        "t.yaml:6: fabric: 8 nodes need 4 groups, a group has 2 cables to other groups\n"
        "hint: more global_ports or larger groups");
  CHECK(refusal(cluster_text("dragonfly", dragonfly + figure("global_ports", "60")), 8) ==
        "t.yaml:6: fabric: a switch needs 69 ports (8 for NICs, 1 in its group, 60 to others), "
        "QM9700 has 64\nhint: fewer leaf_down, group_switches or global_ports");
  CHECK(refusal(cluster_text("dragonfly", dragonfly + figure("global_ports", "8") +
                                              figure("oversubscription", "2")),
                8)
            .find("unknown key \"oversubscription\"") != std::string::npos);
  CHECK(refusal(cluster_text("rail_optimised", figure("racks_per_row", "4") + tree), 8)
            .find("row_pitch") != std::string::npos);
}

TEST_CASE("T-120 T-121: what of an all-to-all crosses spines, with and without PXN") {
  const auto crossing = [](int nodes, bool pxn) {
    const Cluster cluster = cluster_of(nodes, "fabric-ndr-rail");
    int pairs = 0, far = 0;
    for (int node = 1; node < nodes; ++node) {
      for (std::size_t from = 0; from < 8; ++from) {
        for (std::size_t to = 0; to < 8; ++to) {
          // With PXN the message leaves by the NIC of the receiver's rail.
          const auto route =
              cluster.fabric_route(0, nic(cluster, pxn ? to : from), node, nic(cluster, to));
          ++pairs;
          far += route.size() > 2 ? 1 : 0;
        }
      }
    }
    return static_cast<double>(far) / pairs;
  };
  check_vector("T-120", "4 SUs, without PXN, share of pairs", "routes", crossing(128, false),
               0.96949, 1e-5);
  check_vector("T-120", "4 SUs, with PXN, share of pairs", "routes", crossing(128, true), 0.75591,
               1e-5);
  check_vector("T-121", "1 SU, without PXN, share of pairs", "routes", crossing(32, false), 0.875,
               1e-9);
  check_vector("T-121", "1 SU, with PXN, share of pairs", "routes", crossing(32, true), 0, 1e-9);
}

namespace {

/// 20 nodes on 4 leaves, 2:1; every NIC sends to the next node's NIC of its rail. Seconds for 8
/// MiB.
double ring_time(const Cluster& cluster, const std::vector<int>& order, double& crossing) {
  FlowNetwork net = flow_network(cluster);
  int hops = 0, far = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int from = order[i], to = order[(i + 1) % order.size()];
    far += cluster.fabric_route(from, nic(cluster, 0), to, nic(cluster, 0)).size() > 2 ? 1 : 0;
    ++hops;
    for (std::size_t rail = 0; rail < 8; ++rail)
      add_spread_flow(net, cluster, from, nic(cluster, rail), to, nic(cluster, rail), {},
                      mebibytes(8));
  }
  crossing = static_cast<double>(far) / hops;
  Instant last;
  net.run([&](std::uint32_t flow) { last = later(last, net.left(flow)); });
  return seconds(last);
}

}  // namespace

TEST_CASE("T-72: rings placed leaf by leaf do not feel oversubscription, rings at random do") {
  const Cluster cluster = cluster_of(20, "fabric-ndr-fat-tree-2to1");
  const double alone = seconds(transfer_time(mebibytes(8), {48'000'000'000}));
  std::vector<int> order(20);
  std::iota(order.begin(), order.end(), 0);
  double crossing = 0;
  check_vector("T-72", "ring leaf by leaf on 2:1, slowdown", "flow",
               ring_time(cluster, order, crossing) / alone, 1, 1e-4);
  CHECK(crossing == doctest::Approx(4.0 / 20));
  Random random(5);
  double mean = 0, slowest = 0;
  constexpr int draws = 40;
  for (int draw = 0; draw < draws; ++draw) {
    for (std::uint32_t i = 20; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    slowest = std::max(slowest, ring_time(cluster, order, crossing) / alone);
    mean += crossing / draws;
  }
  check_vector("T-72", "ring at random, 4 leaves of 5 nodes, share of hops that cross", "routes",
               mean, 15.0 / 19, 0.05);
  CHECK(slowest > 1.3);
  CHECK(slowest <= 2 * 48 / 49.68 * 1.001);  // five nodes' NICs on 20 uplinks
}

TEST_CASE("T-71: a permutation across leaves is slowed by the oversubscription") {
  const Cluster cluster = cluster_of(20, "fabric-ndr-fat-tree-2to1");
  FlowNetwork net = flow_network(cluster);
  for (int node = 0; node < 20; ++node)
    for (std::size_t rail = 0; rail < 8; ++rail)
      add_spread_flow(net, cluster, node, nic(cluster, rail), (node + 5) % 20, nic(cluster, rail),
                      {}, mebibytes(8));
  Instant last;
  net.run([&](std::uint32_t flow) { last = later(last, net.left(flow)); });
  // Uplinks at what headers leave of the line.
  const double trunk = 50e9 * 4'096 / 4'122;
  check_vector("T-71", "cross-leaf permutation on 2:1, slowdown", "flow",
               seconds(last) * trunk / static_cast<double>(mebibytes(8).count), 2, 1e-5);
}

TEST_CASE("T-22: an even split over uplinks loses what failed ones carried") {
  for (const auto& [failed, share] : {std::pair(1, 0.96875), std::pair(4, 0.875)}) {
    const Cluster cluster = cluster_of(64, "fabric-ndr-rail");
    // A leaf's 32 uplinks, `failed` of them down: all its ways share what is left, max-min.
    FlowNetwork net;
    std::vector<std::uint32_t> up;
    const auto route = cluster.fabric_route(0, nic(cluster, 0), 32, nic(cluster, 0));
    const Bandwidth trunk = cluster.link(route[1]).rate;
    const std::uint32_t ways = cluster.fabric_ways(0, nic(cluster, 0), 32, nic(cluster, 0));
    CHECK(ways == 32);
    for (std::uint32_t way = 0; way < ways; ++way) up.push_back(net.add_link({trunk, {}}));
    for (int i = 0; i < failed; ++i) net.set_rate(up[static_cast<std::size_t>(i)], {});
    double rate = 0;
    for (int node = 0; node < 32; ++node)
      for (std::uint32_t way = static_cast<std::uint32_t>(failed); way < ways; ++way) {
        const std::uint32_t links[] = {up[way]};
        net.add_flow({{}, FluidSpec::kEndless, links, 1, 0, {}});
      }
    net.run();
    for (std::uint32_t link : up) rate += static_cast<double>(net.load(link).bytes_per_s);
    check_vector("T-22", fmt::format("{} of 32 uplinks lost, share", failed), "flow",
                 rate / (32 * static_cast<double>(trunk.bytes_per_s)), share, 1e-6);
  }
}

TEST_CASE("flow and packet rungs agree on a non-blocking fabric without collisions") {
  // A ring over 40 nodes on two leaves of each rail; static ways, one per destination.
  const Cluster cluster = cluster_of(40, "fabric-ndr-rail");
  const Bytes size = mebibytes(8);
  FlowNetwork flows = flow_network(cluster);
  PacketFabric packets = packet_fabric(cluster, PacketConfig{});
  for (int node = 0; node < 40; ++node) {
    const int to = (node + 1) % 40;
    std::vector<std::uint32_t> links;
    for (const LinkId id : cluster.fabric_route(node, nic(cluster, 0), to, nic(cluster, 0)))
      links.push_back(index_of(id));
    flows.add_flow({{}, size, links, 1, 0, {}});
    for (std::uint32_t& link : links) link -= packets.first_link;
    QueuePairSpec spec;
    spec.from = packets.hosts[static_cast<std::size_t>(node) * 8];
    spec.to = packets.hosts[static_cast<std::size_t>(to) * 8];
    spec.links = links;
    packets.net.add_queue_pair(spec);
  }
  for (std::uint32_t pair = 0; pair < 40; ++pair) packets.net.send(pair, {}, size);
  Instant flow, packet;
  flows.run([&](std::uint32_t id) { flow = later(flow, flows.arrived(id)); });
  packets.net.run([&](std::uint32_t) { packet = packets.net.now(); });
  // NICs on the flow rung run at their measured goodput of 0.96, packets at 4096 / 4122 of the
  // line.
  const double scale = 0.96 / (4'096.0 / 4'122);
  CHECK(seconds(packet) / (seconds(flow) * scale) == doctest::Approx(1).epsilon(0.03));
}
