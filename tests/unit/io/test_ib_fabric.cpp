// From the cables that ibnetdiscover saw to a fabric file.

#include <doctest/doctest.h>

#include <cmath>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/imports/ib_network.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/read_fabric.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

/// A network as text: `leaves` x `hosts` ports down, `up` cables to each of `spines`; host h has a
/// device per rail, leaf l serves rail l % rails.
struct Drawn {
  int leaves = 2, hosts = 4, spines = 2, parallel = 1, rails = 1;
  std::string speed = "4xNDR";

  std::string text() const {
    std::string out;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      out += head("leaf", leaf);
      int port = 0;
      for (int host = 0; host < hosts; ++host)
        out += cable(++port, "H-" + std::to_string(leaf * hosts + host),
                     "node" + std::to_string(leaf / rails * hosts + host) + " mlx5_" +
                         std::to_string(leaf % rails));
      for (int spine = 0; spine < spines; ++spine)
        for (int i = 0; i < parallel; ++i)
          out += cable(++port, "S-spine" + std::to_string(spine), "x");
    }
    for (int spine = 0; spine < spines; ++spine) {
      out += head("spine", spine);
      int port = 0;
      for (int leaf = 0; leaf < leaves; ++leaf)
        for (int i = 0; i < parallel; ++i)
          out += cable(++port, "S-leaf" + std::to_string(leaf), "x");
    }
    return out;
  }

  static std::string head(const std::string& kind, int number) {
    const std::string name = kind + std::to_string(number);
    return "\nSwitch\t65 \"S-" + name + "\"\t\t# \"MF0;" + name + ":MQM9700/U1\" base\n";
  }
  std::string cable(int port, const std::string& peer, const std::string& name) const {
    return "[" + std::to_string(port) + "]\t\"" + peer + "\"[1]\t\t# \"" + name + "\" lid 1 " +
           speed + "\n";
  }
};

const PartsCatalogue& parts() {
  static const PartsCatalogue all = load_parts();
  return all;
}

IbFabric found(const std::string& text) {
  return fabric_of(parse_ib_network(read_log(text)), parts(), "net.txt");
}

/// As --fabric would read it.
FabricConfig read_back(const IbFabric& fabric) {
  const YamlNode tree = parse_yaml(fabric.yaml, "fabric.yaml");
  Reader in(tree, "fabric.yaml");
  in.choice("kind", {"fabric"});
  return read_fabric(in, parts());
}

const std::string kLogs = FABRICAST_TEST_DATA "/logs/";

}  // namespace

TEST_CASE("fabric of cables: leaves, uplinks and rates, as the reader takes them") {
  const IbFabric fabric = found(Drawn{3, 8, 2, 2}.text());
  const FabricConfig read = read_back(fabric);
  CHECK(read.kind == FabricConfig::Kind::fat_tree);
  CHECK(read.leaf.name == "QM9700");
  CHECK(read.leaf_down == 8);
  CHECK(read.oversubscription == 2);
  CHECK(read.pod_leaves == 0);
  CHECK(fabric.summary ==
        "fat_tree of QM9700: 3 leaves, 8 down and 4 up, 2:1, 24 hosts on 1 cable each, 2 spines");
  REQUIRE(fabric.notes.size() == 1);
  CHECK(fabric.notes[0] ==
        "a leaf has 4 uplinks to 2 spines: parallel cables are simulated as if to 4 spines");
}

TEST_CASE("fabric of cables: the oversubscription gives back the uplinks") {
  for (int hosts = 1; hosts <= 24; ++hosts) {
    for (int spines = 1; spines <= hosts; ++spines) {
      const FabricConfig read = read_back(found(Drawn{2, hosts, spines}.text()));
      CHECK(static_cast<int>(std::ceil(hosts / read.oversubscription - 1e-9)) == spines);
    }
  }
}

TEST_CASE("fabric of cables: rails are leaves that serve one device of many hosts") {
  const IbFabric rails = found(Drawn{4, 4, 4, 1, 4}.text());
  CHECK(read_back(rails).kind == FabricConfig::Kind::rail_optimised);
  CHECK(rails.notes.empty());
  // All cables of a host on one leaf.
  std::string one_leaf = Drawn{2, 4, 2, 1, 1}.text();
  for (std::size_t at = 0; (at = one_leaf.find("node1 ", at)) != std::string::npos; ++at)
    one_leaf.replace(at, 6, "node0 ");
  const IbFabric together = found(one_leaf);
  CHECK(read_back(together).kind == FabricConfig::Kind::fat_tree);
}

TEST_CASE("fabric of cables: what is not regular is said") {
  Drawn drawn{2, 4, 2};
  std::string text = drawn.text();
  text.replace(text.find("4xNDR"), 5, "2xHDR");
  text.replace(text.find("[6]"), text.find('\n', text.find("[6]")) - text.find("[6]") + 1, "");
  const IbFabric fabric = found(text);
  REQUIRE(fabric.notes.size() == 3);
  CHECK(fabric.notes[0] ==
        "1 end of another speed than most (4xNDR to hosts, 4xNDR between switches), taken for one "
        "of it: leaf0:MQM9700/U1 port 1: 2xHDR");
  CHECK(fabric.notes[1] ==
        "leaves have unequal numbers of uplinks (2 x1, 1 x1): written with 1; leaf1:MQM9700/U1 has "
        "2");
  CHECK(fabric.notes[2] ==
        "1 of 4 pairs of a leaf and a spine are not joined: written as if all were");
}

TEST_CASE("fabric of cables: what is no fat-tree is refused") {
  const auto refused = [](const std::string& text) { return error_text([&] { found(text); }); };
  CHECK(refused("Ca\t1 \"H-1\"\t\t# \"node0 mlx5_0\"\n") ==
        "net.txt: no fabric file: no switch was seen");
  std::string ring;
  for (int i = 0; i < 4; ++i) {
    Drawn drawn;
    ring += Drawn::head("leaf", i) + drawn.cable(1, "H-" + std::to_string(i), "node mlx5_0") +
            drawn.cable(2, "S-leaf" + std::to_string((i + 1) % 4), "x");
  }
  CHECK(refused(ring) ==
        "net.txt: no fabric file: switches leaf0:MQM9700/U1 and leaf1:MQM9700/U1 are joined (port "
        "2), and both have hosts: no fat-tree\nhint: a dragonfly or a mesh is written by hand: "
        "docs/topologies.md");
  Drawn slow;
  slow.speed = "4xQDR";
  CHECK(refused(slow.text()) ==
        "net.txt: no fabric file: most links to hosts are 4xQDR, between switches 4xQDR\nhint: the "
        "catalogue has SB7800 (EDR), QM8700 (HDR), QM9700 (NDR), Q3400 (XDR)");
  Drawn apart{1, 4, 1};
  std::string two = apart.text(), other = two;
  for (const auto& [from, to] : {std::pair{"leaf0", "leaf9"}, std::pair{"spine0", "spine9"}})
    for (std::size_t at = 0; (at = other.find(from, at)) != std::string::npos; ++at)
      other.replace(at, std::string(from).size(), to);
  CHECK(
      refused(two + other)
          .starts_with(
              "net.txt: no fabric file: the leaves fall apart into 2 groups that no cable joins"));
}

TEST_CASE("fabric of cables: real outputs") {
  const auto of_file = [](const std::string& name) { return found(read_text_file(kLogs + name)); };
  const IbFabric hdr = of_file("hdr-fat-tree-faked.txt");
  CHECK(hdr.summary ==
        "fat_tree of QM8700: 5 leaves, 2 down and 1 up, 2:1, 10 hosts on 1 cable each, 1 spine in "
        "each of 2 pods, 1 core");
  const FabricConfig read = read_back(hdr);
  CHECK(read.pod_leaves == 3);
  CHECK(read.core_oversubscription == 3);
  CHECK(error_text([&] { of_file("hca-without-link.txt"); }) ==
        "net.txt: no fabric file: no switch was seen");
  CHECK(error_text([&] { of_file("ports-report-test.txt"); }) ==
        "net.txt: no fabric file: several leaves, and most have no uplink");
}

}  // namespace fabricast
