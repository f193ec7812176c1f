// Goal: what joins the nodes is counted as it is sold. Method: NVIDIA's published counts, and
// fabrics small enough to count by hand; for every other one a walk over all links of the cluster.

#include <doctest/doctest.h>

#include <map>

#include "models/hardware/bill/bill.hpp"
#include "models/io/topologies/load.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const PartsCatalogue& catalogue() {
  static const PartsCatalogue parts = load_catalogue();
  return parts;
}

FabricBill bill(const std::string& topology, int nodes, const std::string& fabric) {
  return bill_of(load_cluster({topology, nodes, fabric, true}, catalogue()), catalogue());
}

std::int64_t count(const FabricBill& bill, BillKind kind, BillPlace place,
                   const std::string& part = {}) {
  std::int64_t out = 0;
  for (const BillLine& line : bill.lines)
    if (line.kind == kind && line.place == place && (part.empty() || line.part == part))
      out += line.count;
  return out;
}

std::int64_t links(const FabricBill& bill, BillPlace place) {
  std::int64_t out = 0;
  for (const BillLine& line : bill.lines)
    if (line.place == place) out += line.links;
  return out;
}

/// A fabric of two 400 Gb/s leaves at most, whose parts are given.
std::string small_fabric(const std::string& leaf, const std::string& cable,
                         const std::string& metres) {
  const auto figure = [](const std::string& value) {
    return "{value: " + value + ", source: model, status: assumed}";
  };
  return "kind: cluster\nname: c\nnode: dgx-h100\nnodes: 4\nfabric:\n  shape: rail_optimised\n"
         "  leaf: " +
         leaf + "\n  leaf_down: " + figure("4") + "\n  oversubscription: " + figure("1") +
         "\n  nodes_per_rack: " + figure("4") + "\n  node_leaf: {cable: " + cable +
         ", length: " + figure(metres) +
         "}\n  leaf_spine: {cable: optical, length: " + figure("30 m") + "}\n";
}

FabricBill small_bill(const std::string& leaf, const std::string& cable,
                      const std::string& metres) {
  return bill_of(parse_cluster(small_fabric(leaf, cable, metres), "c.yaml", {}, catalogue()),
                 catalogue());
}

}  // namespace

// DGX SuperPOD reference architecture, DGX H100 and DGX B300 (table of larger component counts):
// nodes of 8 rails, 32 to a leaf, 64-port switches. Spines have parallel cables to a leaf.
TEST_CASE("the bill of a DGX SuperPOD has the switches and cables of NVIDIA's table") {
  struct Row {
    int nodes;
    std::int64_t leaves, spines, node_leaf, leaf_spine;
  };
  for (const Row& row : {Row{32, 8, 4, 256, 256}, Row{64, 16, 8, 512, 512},
                         Row{128, 32, 16, 1024, 1024}, Row{256, 64, 32, 2048, 2048}}) {
    CAPTURE(row.nodes);
    const FabricBill found = bill("dgx-h100", row.nodes, "fabric-ndr-rail");
    CHECK(count(found, BillKind::nic, BillPlace::nic, "ConnectX-7") == row.node_leaf);
    CHECK(count(found, BillKind::fabric_switch, BillPlace::leaf, "QM9700") == row.leaves);
    CHECK(count(found, BillKind::fabric_switch, BillPlace::spine, "QM9700") == row.spines);
    CHECK(links(found, BillPlace::node_leaf) == row.node_leaf);
    CHECK(links(found, BillPlace::leaf_spine) == row.leaf_spine);
    // All ports are taken, two to a cage.
    CHECK(found.ports[0].used == 64 * row.leaves);
    CHECK(found.ports[0].free == 0);
    CHECK(found.ports[1].used == 64 * row.spines);
    CHECK(found.ports[1].free == 0);
    CHECK(count(found, BillKind::transceiver, BillPlace::nic, "400G_SR4") == row.node_leaf);
    CHECK(count(found, BillKind::transceiver, BillPlace::leaf, "800G_SR8") == 32 * row.leaves);
    CHECK(count(found, BillKind::transceiver, BillPlace::spine, "800G_SR8") == 32 * row.spines);
    CHECK(count(found, BillKind::fibre, BillPlace::leaf_spine, "MPO12_OM4") == row.leaf_spine);
  }
}

// 24 leaves x 32 uplinks are 768 ports, 12 switches of 64. Twelve do not share 32 uplinks evenly;
// 16 do, as in NVIDIA's table for three scalable units.
TEST_CASE("three scalable units take 16 spines, not 12") {
  const FabricBill found = bill("dgx-h100", 96, "fabric-ndr-rail");
  CHECK(count(found, BillKind::fabric_switch, BillPlace::leaf) == 24);
  CHECK(count(found, BillKind::fabric_switch, BillPlace::spine) == 16);
  CHECK(found.ports[1].used == 768);
  CHECK(found.ports[1].free == 16 * 64 - 768);
}

// 8 leaves with 4 NICs each; 4 uplinks each to 4 spines of 8 ports, which one switch does.
TEST_CASE("copper: a split cable in a cage of two ports serves two NICs") {
  const FabricBill found = small_bill("QM9700", "copper", "1.2 m");
  CHECK(count(found, BillKind::copper, BillPlace::node_leaf, "800G_DAC_split") == 16);
  CHECK(links(found, BillPlace::node_leaf) == 32);
  CHECK(found.lines[3].metres == 1.5);
  CHECK(count(found, BillKind::fabric_switch, BillPlace::leaf) == 8);
  CHECK(count(found, BillKind::fabric_switch, BillPlace::spine) == 1);
  CHECK(found.ports[0].used == 64);
  CHECK(count(found, BillKind::transceiver, BillPlace::leaf) == 16);
  CHECK(count(found, BillKind::transceiver, BillPlace::spine) == 16);
  CHECK(count(found, BillKind::transceiver, BillPlace::nic) == 0);
}

TEST_CASE("copper that is not sold becomes fibre, and a note says so") {
  const FabricBill found = small_bill("QM9700", "copper", "5 m");
  CHECK(found.pieces(BillKind::copper) == 0);
  CHECK(count(found, BillKind::fibre, BillPlace::node_leaf) == 32);
  REQUIRE(!found.notes.empty());
  CHECK(found.notes[0] ==
        "Copper of 5 m (node-leaf) is not sold for these ports: counted as fibre.");
}

// 400 Gb/s NICs on 800 Gb/s ports: two share a port. 4 NICs take 2 ports of each leaf, and 2
// uplinks of 800 Gb/s go up.
TEST_CASE("NICs slower than the ports share them") {
  const FabricBill copper = small_bill("SN5600", "copper", "2 m");
  CHECK(count(copper, BillKind::copper, BillPlace::node_leaf, "800G_DAC_split") == 16);
  CHECK(copper.ports[0].used == 8 * (2 + 2));
  const FabricBill fibre = small_bill("SN5600", "optical", "20 m");
  CHECK(count(fibre, BillKind::transceiver, BillPlace::leaf, "800G_SR8") == 8 * (2 + 2));
  CHECK(count(fibre, BillKind::transceiver, BillPlace::nic, "400G_SR4") == 32);
  CHECK(count(fibre, BillKind::fibre, BillPlace::node_leaf) == 32);
  // A link of 800 Gb/s is two fibre cables of 400 Gb/s.
  CHECK(count(fibre, BillKind::fibre, BillPlace::leaf_spine) ==
        2 * links(fibre, BillPlace::leaf_spine));
}

TEST_CASE("what reaches farther is single-mode, at both ends") {
  const FabricBill found = small_bill("QM9700", "optical", "80 m");
  CHECK(count(found, BillKind::transceiver, BillPlace::nic, "400G_DR4") == 32);
  CHECK(count(found, BillKind::transceiver, BillPlace::leaf, "800G_DR8") == 16);
  CHECK(count(found, BillKind::fibre, BillPlace::node_leaf, "MPO12_OS2") == 32);
  for (const BillLine& line : found.lines)
    if (line.kind == BillKind::fibre && line.part == "MPO12_OS2") CHECK(line.metres == 80);
}

TEST_CASE("beyond the reach of all transceivers nothing fits, and the lines say so") {
  const FabricBill found = small_bill("QM9700", "optical", "3000 m");
  CHECK(count(found, BillKind::transceiver, BillPlace::nic) == 32);
  for (const BillLine& line : found.lines)
    if (line.kind == BillKind::transceiver && line.place == BillPlace::nic) {
      CHECK(line.part.empty());
      CHECK(!line.watts_each);
    }
}

// Groups of 16 switches with 16 NICs, 15 cables inside and 16 outside each: two groups of 256 NICs
// (32 nodes each) have 2 x 120 cables inside and 256 between them.
TEST_CASE("a dragonfly has leaves only, with cables in and between groups") {
  const FabricBill found = bill("dgx-h100", 64, "fabric-dragonfly");
  CHECK(count(found, BillKind::fabric_switch, BillPlace::leaf) == 32);
  CHECK(links(found, BillPlace::node_leaf) == 512);
  CHECK(links(found, BillPlace::local) == 240);
  CHECK(links(found, BillPlace::global) == 256);
  CHECK(found.ports[0].used == 512 + 2 * 240 + 2 * 256);
  CHECK(found.ports[0].used + found.ports[0].free == 32 * 64);
}

// 64 nodes of the assumed fabric: 16 leaves of 64 ports and 32 spines of 16, which are 8 switches.
TEST_CASE("an assumed fabric takes the switch that is sold, and says so") {
  const FabricBill found = bill("dgx-h100", 64, "");
  CHECK(count(found, BillKind::fabric_switch, BillPlace::leaf, "QM9700") == 16);
  CHECK(count(found, BillKind::fabric_switch, BillPlace::spine, "QM9700") == 8);
  for (const BillLine& line : found.lines)
    CHECK(line.assumed == (line.kind == BillKind::fabric_switch));
  // DGX-2: 100 Gb/s NICs, whose "QM9700-like" leaf is no part.
  const FabricBill slow = bill("dgx2-v100", 8, "");
  CHECK(count(slow, BillKind::fabric_switch, BillPlace::leaf, "SB7800") > 0);
}

// 512 nodes: 128 leaves on 32 spines of 128 ports, which no switch has: two for each.
TEST_CASE("spines of an assumed fabric that no switch can be are several") {
  const FabricBill found = bill("dgx-h100", 512, "");
  CHECK(count(found, BillKind::fabric_switch, BillPlace::spine) == 64);
  CHECK(found.ports[1].used == 4096);
  CHECK(found.ports[1].free == 0);
}

// A cage of two ports of 200 Gb/s has a fibre for each, where the switches are not the same.
TEST_CASE("fibres of trunks serve one link each") {
  const FabricBill found = bill("gh200-4", 256, "fabric-slingshot-dragonfly");
  CHECK(count(found, BillKind::fibre, BillPlace::global) == links(found, BillPlace::global));
  CHECK(count(found, BillKind::transceiver, BillPlace::leaf, "400G_SR8") == 64 * 17 / 2 + 32);
  const FabricBill far = bill("dgx-h100", 1024, "fabric-ndr-rail-3tier");
  CHECK(count(far, BillKind::transceiver, BillPlace::spine, "800G_DR8") == 1024);
  CHECK(count(far, BillKind::fibre, BillPlace::spine_core) == links(far, BillPlace::spine_core));
}

TEST_CASE("one node needs no fabric; the trays of an NVLink domain do") {
  CHECK(bill("dgx-h100", 1, "").lines.empty());
  CHECK(bill("gb200-nvl72", 18, "fabric-ndr-nvl72").pieces(BillKind::fabric_switch) > 0);
}

TEST_CASE("power: the sum of what is known") {
  const FabricBill found = small_bill("QM9700", "copper", "1 m");
  double watts = 0;
  for (const BillLine& line : found.lines)
    watts += line.watts_each.value_or(0) * static_cast<double>(line.count);
  CHECK(found.watts() == watts);
  CHECK(found.watts() > 9 * 747.0);
}

TEST_CASE("parts for links: mistakes") {
  const auto message = [](const std::string& text) {
    return error_text([&] { parse_parts("kind: parts\n" + text, "p.yaml", &catalogue()); });
  };
  const std::string rate = "{value: 400 Gb/s, source: model, status: assumed}";
  const std::string twice = "{value: 800 Gb/s, source: model, status: assumed}";
  CHECK(message("transceivers:\n  a:\n    rate: " + rate + "\n    fibre_rate: " + twice + "\n") ==
        "p.yaml:5: transceivers.a.fibre_rate: must not be more than the rate");
  CHECK(message("transceivers:\n  a:\n    rate: " + rate + "\n    fibre_rate: " + rate + "\n") ==
        "p.yaml:4: transceivers.a: missing key \"fibre\"");
  CHECK(message("copper_cables:\n  a:\n    rate: " + rate + "\n    length: 3 m\n") ==
        "p.yaml:4: copper_cables.a: missing key \"reach\"");
}
