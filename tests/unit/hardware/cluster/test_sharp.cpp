// Goal: SHARP trees lie where the switches are, cost what the documentation says, and are refused
// where it says so. Method: trees on hand-made fabrics; latencies of one and two levels; two jobs
// that share a leaf, on switches with one tree and with one tree per port.

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "models/hardware/cluster/sharp.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

Cluster cluster_of(int nodes, int leaf_down, const std::string& part,
                   FabricConfig::Kind kind = FabricConfig::Kind::rail_optimised) {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph node = load_cluster({"dgx-h100", 1, ""}, parts).node();
  FabricConfig fabric = default_fabric(node, parts);
  fabric.kind = kind;
  fabric.leaf = fabric.spine = parts.fabric_switches.at(part);
  fabric.leaf_down = leaf_down;
  return Cluster(node, nodes, fabric);
}

}  // namespace

TEST_CASE("a tree ends at the only leaf, else at a spine that all its leaves share") {
  const Cluster one = cluster_of(4, 8, "QM9700");
  const SharpTree flat = sharp_tree(one, all_nodes(one), 3);
  CHECK(flat.levels() == 1);
  CHECK(flat.switches.front().size() == 1);
  CHECK(flat.nic_up.size() == 4);
  CHECK(flat.leaf_up.empty());
  CHECK(one.link_name(flat.nic_up[2]) == "node2: mlx5_5 -> leaf3.0 (400 Gb/s)");

  const Cluster two = cluster_of(5, 2, "QM9700");
  const SharpTree tall = sharp_tree(two, all_nodes(two), 1);
  CHECK(tall.levels() == 2);
  CHECK(tall.switches.front().size() == 3);
  CHECK(tall.nic_down.size() == 5);
  REQUIRE(tall.leaf_up.size() == 3);
  CHECK(two.link_name(tall.leaf_up[2].front()) == "leaf1.2 -> spine1 (400 Gb/s)");
  CHECK(two.link_name(tall.leaf_down[0].front()) == "spine1 -> leaf1.0 (400 Gb/s)");
}

TEST_CASE("a tree over pods ends at one core; what a pod sends up is added up in its spine") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph node = load_cluster({"dgx-h100", 1, ""}, parts).node();
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf = fabric.spine = fabric.core = parts.fabric_switches.at("QM9700");
  fabric.leaf_down = 2;
  fabric.pod_leaves = 2;
  const Cluster cluster(node, 7, fabric);  // leaves of 2 nodes, pods of 4
  const SharpTree tree = sharp_tree(cluster, all_nodes(cluster), 1);
  CHECK(tree.levels() == 3);
  CHECK(tree.switches[0].size() == 4);
  CHECK(tree.switches[1].size() == 2);
  CHECK(tree.switches[2].size() == 1);
  CHECK(tree.trunks_up[0].size() == 4);
  REQUIRE(tree.trunks_up[1].size() == 2);  // once for two leaves
  CHECK(cluster.link_to(tree.trunks_up[1][0]).which == tree.switches[2][0]);
  CHECK(cluster.link_to(tree.trunks_up[1][1]).which == tree.switches[2][0]);
  for (std::size_t leaf = 0; leaf < 4; ++leaf) {
    // Down the way that it went up.
    REQUIRE(tree.leaf_up[leaf].size() == 2);
    for (std::size_t step = 0; step < 2; ++step) {
      CHECK(cluster.link_from(tree.leaf_up[leaf][step]).which ==
            cluster.link_to(tree.leaf_down[leaf][1 - step]).which);
    }
  }
  // Nodes of one pod need no core.
  CHECK(sharp_tree(cluster, std::array{0, 1, 2, 3}, 1).levels() == 2);
  CHECK(sharp_tree(cluster, std::array{4, 6}, 1).levels() == 2);
}

TEST_CASE("a level costs 0.4 us up and 0.4 us down, the switch's own latency in it") {
  for (const int leaf_down : {8, 2}) {
    const Cluster cluster = cluster_of(4, leaf_down, "QM9700");
    const FabricConfig& fabric = cluster.fabric();
    const SharpTree tree = sharp_tree(cluster, all_nodes(cluster), 0);
    Duration links = fabric.leaf.latency;
    if (tree.levels() == 2) links = links + fabric.leaf.latency + fabric.spine.latency;
    CHECK(sharp_latency(cluster, tree) + links ==
          nanoseconds(800) * static_cast<std::int64_t>(tree.levels()));
    CHECK(sharp_rate(cluster, tree).bytes_per_s == 50'000'000'000);
  }
}

TEST_CASE("two jobs on one leaf: Quantum has one streaming tree, Quantum-2 one per port") {
  const std::array first = {0, 1}, second = {2, 3}, third = {1, 2};
  const Cluster hdr = cluster_of(4, 8, "QM8700");
  SharpManager old_subnet(hdr);
  CHECK(old_subnet.admit(sharp_tree(hdr, first, 0)).empty());
  CHECK(old_subnet.admit(sharp_tree(hdr, second, 0)) ==
        "QM8700 aggregates for 1 streaming tree at a time");
  CHECK(old_subnet.admit(sharp_tree(hdr, second, 1)).empty());  // its own leaf

  const Cluster ndr = cluster_of(4, 8, "QM9700");
  SharpManager subnet(ndr);
  CHECK(subnet.admit(sharp_tree(ndr, first, 0)).empty());
  CHECK(subnet.admit(sharp_tree(ndr, second, 0)).empty());
  CHECK(subnet.admit(sharp_tree(ndr, third, 0)) == "a port serves one streaming tree at a time");
}

TEST_CASE("a subnet has so many trees") {
  const Cluster cluster = cluster_of(128, 8, "QM8700");
  SharpManager manager(cluster);
  // Pairs of nodes on leaves of their own: eight rails, 16 leaves each.
  int admitted = 0;
  std::string why;
  for (int nic = 0; nic < 8 && why.empty(); ++nic) {
    for (int node = 0; node < 128 && why.empty(); node += 8) {
      const std::array pair = {node, node + 1};
      why = manager.admit(sharp_tree(cluster, pair, nic));
      if (why.empty()) ++admitted;
    }
  }
  CHECK(admitted == 63);
  CHECK(why == "the subnet has 63 streaming trees, all in use");
}

TEST_CASE("what has no tree is refused, and NCCL goes on without a word") {
  const std::vector<int> nics = {0, 1, 2, 3, 4, 5, 6, 7}, nodes = {0, 1, 2, 3};
  CHECK(sharp_refusal(cluster_of(4, 2, "QM9700"), nodes, nics).empty());
  CHECK(sharp_refusal(cluster_of(4, 8, "QM8700"), nodes, nics).empty());
  CHECK(sharp_refusal(cluster_of(4, 8, "SN5600"), nodes, nics) ==
        "SN5600 switches do not aggregate");
  const Cluster plain = cluster_of(4, 32, "QM8700", FabricConfig::Kind::fat_tree);
  CHECK(sharp_refusal(plain, nodes, nics) == "QM8700 aggregates for 1 streaming tree at a time");

  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  config.environment.set("NCCL_COLLNET_ENABLE=1");
  config.sharp = true;
  const Communicator with = make_communicator(cluster_of(4, 8, "QM9700"), config);
  CHECK(with.model.input.collnet);
  CHECK(with.warnings.empty());
  const Communicator without = make_communicator(plain, config);
  CHECK(!without.model.input.collnet);
  REQUIRE(without.warnings.size() == 2);
  CHECK(without.warnings[1].starts_with("NICs of 400 Gb/s run at 200 Gb/s"));
  CHECK(without.warnings[0] ==
        "SHARP: QM8700 aggregates for 1 streaming tree at a time; NCCL goes on without CollNet and "
        "does not say so");
}
