// Goal: a cluster's fabric has the latencies, rates and routes that its parts and cables give.
// Method: latencies and rates summed by hand; routes checked as chains of link names on random
// pairs; sizes at both sides of each limit.

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "models/io/topologies/load.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/hardware/cluster_ways.hpp"

using namespace fabricast;

namespace {

Cluster cluster_of(const std::string& preset, int nodes, const std::string& fabric = "") {
  return load_cluster({preset, nodes, fabric}, load_catalogue());
}

/// The way on from the NIC into the node: what the receiving NIC adds.
Duration receiving(const Cluster& cluster, std::size_t rail) {
  const VertexId from = nic(cluster, rail);
  const VertexId to = cluster.node().vertex(from).parent;
  return cluster.node().link(cluster.node().pcie_route(from, to).front()).latency;
}

/// Ends of a link from its name: "a -> b (rate)", where "node3: mlx5_0" counts as one end.
std::pair<std::string, std::string> ends(const std::string& name) {
  const std::size_t arrow = name.find(" -> "), rate = name.rfind(" (");
  return {name.substr(0, arrow), name.substr(arrow + 4, rate - arrow - 4)};
}

}  // namespace

TEST_CASE("NIC to NIC through one NDR switch takes 1.17 us") {
  // NIC 450 + 5 m x 5 ns/m, switch 220 + 5 m x 5 ns/m, NIC 450.
  const Cluster cluster = cluster_of("dgx-h100", 2);
  const std::vector<LinkId> route = cluster.fabric_route(0, nic(cluster, 3), 1, nic(cluster, 3));
  std::vector<std::uint32_t> links{7};
  cluster.add_fabric_route(0, nic(cluster, 3), 1, nic(cluster, 3), links);
  REQUIRE(links.size() == route.size() + 1);
  CHECK(links[0] == 7);
  for (std::size_t i = 0; i < route.size(); ++i) CHECK(links[i + 1] == index_of(route[i]));
  CHECK(route.size() == 2);
  CHECK(latency(cluster, route) + receiving(cluster, 3) == nanoseconds(450 + 25 + 220 + 25 + 450));
}

TEST_CASE("NIC to NIC through three NDR switches takes 2.15 us") {
  // Two optical cables more: each 220 + 30 m x 5 ns/m + 2 x 60 ns = 490 ns.
  const Cluster cluster = cluster_of("dgx-h100", 2);
  const std::vector<LinkId> route = cluster.fabric_route(0, nic(cluster, 0), 1, nic(cluster, 5));
  CHECK(route.size() == 4);
  CHECK(latency(cluster, route) + receiving(cluster, 5) == nanoseconds(1'170 + 490 + 490));
}

TEST_CASE("rates: goodput of the NIC at its port, packet headers between switches") {
  const Cluster cluster = cluster_of("dgx-h100", 2);
  const std::vector<LinkId> route = cluster.fabric_route(0, nic(cluster, 0), 1, nic(cluster, 5));
  CHECK(cluster.link(route[0]).rate.bytes_per_s == 48'000'000'000);  // 50 GB/s x 0.96
  CHECK(cluster.link(route[3]).rate == cluster.link(route[0]).rate);
  // 50 GB/s x 4096 / (4096 + 26)
  CHECK(cluster.link(route[1]).rate.bytes_per_s == 49'684'619'117);
  CHECK(cluster.link(route[2]).rate == cluster.link(route[1]).rate);
}

TEST_CASE("without a fabric the NIC's rate decides, and the summary says what was assumed") {
  const Cluster h100 = cluster_of("dgx-h100", 64);
  CHECK(h100.fabric().is_default);
  CHECK(h100.fabric_summary() ==
        "rail-optimised two-tier fat-tree, non-blocking, 16 leaves (QM9700 at 400 Gb/s), 32 "
        "spines, static routing; "
        "assumed (no fabric named), switch radix not checked");
  CHECK(cluster_of("dgx-a100", 2).fabric().leaf.name == "QM8700");
  const Cluster pcie = cluster_of("pcie-2gpu", 2);
  CHECK(pcie.fabric().leaf.name == "QM9700-like");
  CHECK(pcie.fabric().leaf.port_rate == pcie.node().nics()[0].speed);
  CHECK(pcie.uplinks() == 0);  // one rail, one leaf
}

TEST_CASE("routes are chains of links from NIC to NIC") {
  std::mt19937 engine(1);
  const auto random = [&](std::size_t below) { return engine() % below; };
  for (const char* fabric : {"", "fabric-ndr-rail", "fabric-ndr-fat-tree-2to1"}) {
    const Cluster cluster = cluster_of("dgx-h100", 100, fabric);
    const std::size_t nics = cluster.node().nics().size();
    for (int i = 0; i < 200; ++i) {
      const int a = static_cast<int>(random(100)), b = static_cast<int>(random(100));
      const std::size_t p = random(nics), q = random(nics);
      if (a == b && p == q) continue;
      const auto route = cluster.fabric_route(a, nic(cluster, p), b, nic(cluster, q));
      const auto port = [&](int node, std::size_t rail) {
        return "node" + std::to_string(node) + ": " + cluster.node().nics()[rail].name;
      };
      std::string at = port(a, p);
      for (const LinkId id : route) {
        CAPTURE(cluster.link_name(id));
        CHECK(index_of(id) < cluster.links());
        CHECK(ends(cluster.link_name(id)).first == at);
        at = ends(cluster.link_name(id)).second;
      }
      CHECK(at == port(b, q));
    }
  }
}

TEST_CASE("every link of a cluster has a name of its own, a rate and no negative latency") {
  for (const char* fabric : {"", "fabric-ndr-rail", "fabric-ndr-fat-tree-2to1"}) {
    const Cluster cluster = cluster_of("hgx-h200-2nic", 41, fabric);
    std::map<std::string, int> names;
    for (std::uint32_t id = 0; id < cluster.links(); ++id) {
      ++names[cluster.link_name(LinkId{id})];
      CHECK(cluster.link(LinkId{id}).rate.bytes_per_s > 0);
      CHECK(cluster.link(LinkId{id}).latency.ps >= 0);
    }
    CHECK(names.size() == cluster.links());
  }
}

TEST_CASE("D-mod-K: a shift by one leaf loads every uplink of a full leaf once") {
  // 32 nodes of leaf 0 send to the 32 nodes of leaf 1, rail 0: 32 destinations, 32 uplinks.
  const Cluster cluster = cluster_of("dgx-h100", 64);
  std::map<std::uint32_t, int> used;
  for (int node = 0; node < 32; ++node) {
    const auto route = cluster.fabric_route(node, nic(cluster, 0), node + 32, nic(cluster, 0));
    REQUIRE(route.size() == 4);
    ++used[index_of(route[1])];
    ++used[index_of(route[2])];
  }
  CHECK(used.size() == 64);
  for (const auto& [link, flows] : used) CHECK(flows == 1);
}

TEST_CASE("a plain fat-tree keeps the NICs of a node on one leaf, 2:1 has half the uplinks") {
  const Cluster cluster = cluster_of("dgx-h100", 20, "fabric-ndr-fat-tree-2to1");
  CHECK_FALSE(cluster.fabric().is_default);
  CHECK(cluster.uplinks() == 20);
  CHECK(cluster.planes() == 1);
  CHECK(cluster.leaves_per_plane() == 4);  // 5 nodes of 8 NICs each
  CHECK(cluster.fabric_route(0, nic(cluster, 0), 4, nic(cluster, 7)).size() == 2);
  CHECK(cluster.fabric_route(4, nic(cluster, 0), 5, nic(cluster, 0)).size() == 4);
  CHECK(cluster.fabric_summary() ==
        "plain two-tier fat-tree, 2:1 oversubscribed, 4 leaves (QM9700 at 400 Gb/s), 20 spines, "
        "adaptive routing");
}

TEST_CASE("a named fabric holds what its switches have ports for") {
  // 64-port spines take 64 leaves: 8 rails x 8 leaves of 32 nodes.
  CHECK(cluster_of("dgx-h100", 256, "fabric-ndr-rail").leaves_per_plane() == 8);
  CHECK(
      error_text([] { cluster_of("dgx-h100", 257, "fabric-ndr-rail"); }) ==
      "topologies/fabric-ndr-rail.yaml:7: 257 nodes need 72 leaves, the spine QM9700 has 64 ports\n"
      "hint: two tiers hold no more: fewer nodes, switches with more ports, or three tiers, "
      "like fabric-ndr-rail-3tier");
}

TEST_CASE("131,072 nodes fit, a billion is refused before anything is allocated") {
  const Cluster cluster = cluster_of("dgx-h100", 131'072);
  const auto route = cluster.fabric_route(0, nic(cluster, 7), 131'071, nic(cluster, 7));
  REQUIRE(route.size() == 4);
  CHECK(cluster.link_name(route.front()) == "node0: mlx5_11 -> leaf7.0 (400 Gb/s)");
  CHECK(cluster.link_name(route.back()) == "leaf7.4095 -> node131071: mlx5_11 (400 Gb/s)");
  // 66 links in a node, 16 of its NICs, 2 x 32 per leaf.
  CHECK(cluster.links() == 131'072u * (76 + 16) + 8u * 4'096 * 64);
  CHECK(
      error_text([] { cluster_of("dgx-h100", 1'000'000'000); }) ==
      "1000000000 nodes of dgx-h100 are too many: they have 108000000000 links, at most 4294967295 "
      "can be numbered");
}

TEST_CASE("a cluster file names its node type, its size and its fabric") {
  const Cluster cluster = cluster_of("dgx-h100-su", 0);
  CHECK(cluster.nodes() == 32);
  CHECK(cluster.fabric().name == "fabric-ndr-rail");
  CHECK(cluster_of("dgx-h100-su", 4).nodes() == 4);
  CHECK(cluster_of("dgx-h100-su", 4, "fabric-ndr-fat-tree-2to1").fabric().name ==
        "fabric-ndr-fat-tree-2to1");
}

TEST_CASE("a cluster may write its fabric inline") {
  const std::string figure = "{value: 16, source: model, status: assumed}";
  const std::string text =
      "kind: cluster\nname: small\nnode: dgx-a100\nnodes: 8\nnodes_per_rack: 2\nfabric:\n"
      "  shape: fat_tree\n  leaf: QM8700\n  spine: QM9700\n  leaf_down: " +
      figure +
      "\n"
      "  oversubscription: {value: 1.5, source: here, status: assumed}\n  nodes_per_rack: " +
      figure +
      "\n  sources: {here: {what: \"a sketch\"}}\n"
      "  node_leaf: {cable: copper, length: {value: 2.5 m, source: here, status: assumed}}\n"
      "  leaf_spine: {cable: copper, length: {value: 3 m, source: here, status: assumed}}\n";
  const Cluster cluster = parse_cluster(text, "small.yaml", {}, load_catalogue());
  CHECK(cluster.nodes() == 8);
  CHECK(cluster.leaves_per_plane() == 4);
  CHECK(cluster.uplinks() == 11);  // 16 / 1.5 = 10.7
  CHECK(cluster.fabric().nodes_per_rack == 2);
  const auto route = cluster.fabric_route(0, nic(cluster, 0), 7, nic(cluster, 0));
  REQUIRE(route.size() == 4);
  // NIC 450 ns + 2.5 m; leaf QM8700 130 ns + 3 m; spine QM9700 220 ns + 3 m; leaf 130 ns + 2.5 m.
  CHECK(latency(cluster, route) == Duration{462'500 + 145'000 + 235'000 + 142'500});
}

TEST_CASE("a single node without a NIC is a cluster, two are not") {
  const std::string text =
      "kind: node\nname: lonely\ncpus:\n"
      "  - {cpu: Intel_8570, numa: 0, affinity: \"f\", pci: [{gpu: RTX_A6000, busid: "
      "\"0000:01:00.0\"}]}\n";
  const PartsCatalogue parts = load_catalogue();
  const Cluster one = parse_cluster(text, "lonely.yaml", {"", 1, ""}, parts);
  CHECK(one.links() == one.node().links().size());
  CHECK(one.fabric_summary() == "no fabric: the node has no NIC");
  CHECK(error_text([&] {
          parse_cluster(text, "lonely.yaml", {"", 2, ""}, parts);
        }) == "lonely has no NIC: 2 of them cannot be connected");
}
