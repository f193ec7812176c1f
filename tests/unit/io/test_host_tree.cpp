// Lists of hosts, and hosts with the switches above them, of each format that a scheduler or its
// tools write. Files of tests/data/hosts: its README says where they are from.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "models/io/formats/text_file.hpp"
#include "models/io/hosts/host_list.hpp"
#include "models/io/hosts/host_tree.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

using Names = std::vector<std::string>;

HostTree tree_of(const std::string& name, const Names& labels = {}) {
  const std::string path = fmt::format("{}/hosts/{}", FABRICAST_TEST_DATA, name);
  return parse_host_tree(read_text_file(path), name, labels);
}

const TreeHost& host(const HostTree& tree, const std::string& name) {
  const int at = tree.find(name);
  REQUIRE(at >= 0);
  return tree.hosts[static_cast<std::size_t>(at)];
}

}  // namespace

TEST_CASE("host list: numbers, ranges, zeros in front, several brackets") {
  CHECK(parse_host_list("node[08-10,20],gpu7") ==
        Names{"node08", "node09", "node10", "node20", "gpu7"});
  CHECK(parse_host_list("r[1-2]n[3,5]") == Names{"r1n3", "r1n5", "r2n3", "r2n5"});
  CHECK(parse_host_list(" a b\nc,,d ") == Names{"a", "b", "c", "d"});
  CHECK(parse_host_list("").empty());
  CHECK(parse_host_list("n[1-2]-ib") == Names{"n1-ib", "n2-ib"});
}

TEST_CASE("host list: what is none is refused") {
  const std::string hint = "\nhint: write hosts like node1,node2 or node[01-16,20]";
  CHECK(error_text([] { parse_host_list("n[1-3"); }) ==
        fmt::format("host list \"n[1-3\": a [ without its ]{}", hint));
  CHECK(error_text([] { parse_host_list("n[5-3]"); }) ==
        fmt::format("host list \"n[5-3]\": \"5-3\" runs backwards{}", hint));
  CHECK(error_text([] { parse_host_list("n[a]"); }) ==
        fmt::format("host list \"n[a]\": \"a\" is no number and no range{}", hint));
  CHECK(error_text([] { parse_host_list("n1]"); }) ==
        fmt::format("host list \"n1]\": a ] without its [{}", hint));
  CHECK(error_text([] {
          parse_host_list("n[0-9999999]");
        }).starts_with("host list \"n[0-9999999]\": more than 1048576 hosts"));
  CHECK(error_text([] { parse_host_file("a\n[\n", "hosts"); }).starts_with("hosts:2: host list"));
  CHECK(error_text([] { parse_host_file("# none\n", "hosts"); }).starts_with("hosts: no host"));
}

TEST_CASE("host list: the shortest list reads as the same hosts") {
  CHECK(to_host_list({"n1", "n2", "n3", "n7", "m7", "x"}) == "n[1-3,7],m7,x");
  CHECK(to_host_list({"n08", "n09", "n10"}) == "n[08-10]");
  CHECK(to_host_list({"n3", "n2"}) == "n[3,2]");
  CHECK(to_host_list({"only"}) == "only");
  for (const Names& hosts : {Names{"n9", "n10", "n11"}, {"n1", "n01"}, {"12", "13"}, {"a", "a"}})
    CHECK(parse_host_list(to_host_list(hosts)) == hosts);
}

TEST_CASE("host list: a file has a host a line") {
  CHECK(parse_host_file("# mine\nn1 slots=8\n\n n[2-3]\n", "hosts") == Names{"n1", "n2", "n3"});
}

TEST_CASE("host tree: Slurm's topology.conf, as a file and as scontrol shows it") {
  const HostTree tree = tree_of("topograph-slinky-tree.conf");
  CHECK(tree.kind == "Slurm topology.conf");
  CHECK(tree.hosts.size() == 96);
  CHECK(host(tree, "srv4203").switches == Names{"switch.1.8", "switch.2.4", "switch.3.1"});
  const HostTree manual = tree_of("slurm-manual-tree.conf"),
                 shown = tree_of("scontrol-show-topology.txt");
  REQUIRE(manual.hosts.size() == 18);
  REQUIRE(shown.hosts.size() == 18);
  for (std::size_t i = 0; i < 18; ++i) {
    CHECK(manual.hosts[i].name == shown.hosts[i].name);
    CHECK(manual.hosts[i].switches == shown.hosts[i].switches);
  }
}

TEST_CASE("host tree: blocks are leaves where no switch is named") {
  const HostTree tree = tree_of("topograph-slinky-block.conf");
  CHECK(tree.hosts.size() == 96);
  CHECK(host(tree, "srv6208").switches == Names{"rack62"});
  CHECK(host(tree, "srv6208").domain == "rack62");
}

TEST_CASE("host tree: topology.yaml has switches of the default tree, and blocks") {
  const HostTree tree = tree_of("slinky-topology.yaml");
  CHECK(tree.kind == "Slurm topology.yaml");
  CHECK(host(tree, "slurm-node3").switches == Names{"s2", "sw_root"});
  CHECK(host(tree, "slurm-node3").domain == "b2");
}

TEST_CASE("host tree: SLURM_TOPOLOGY_ADDR of each task, the nearest switch last") {
  const HostTree tree = tree_of("slurm-topology-addr.txt");
  CHECK(tree.hosts.size() == 4);
  CHECK(host(tree, "belenos386").switches == Names{"iswi1r4s0c1l1", "CELL1", "root_switch"});
  const HostTree flat = parse_host_tree(
      "SLURM_TOPOLOGY_ADDR=a.cluster.org\nSLURM_TOPOLOGY_ADDR_PATTERN=node\n"
      "SLURM_TOPOLOGY_ADDR=b.cluster.org\nSLURM_TOPOLOGY_ADDR_PATTERN=node\n",
      "env");
  CHECK(flat.hosts[0].name == "a.cluster.org");
  CHECK(flat.hosts[0].switches == flat.hosts[1].switches);
  CHECK(flat.find("b") == 1);  // by the short name
  CHECK(error_text([] {
          parse_host_tree(
              "SLURM_TOPOLOGY_ADDR=s1.a\nSLURM_TOPOLOGY_ADDR_PATTERN=switch.node\n"
              "SLURM_TOPOLOGY_ADDR=b\n",
              "env");
        }) == "env:3: b has not the parts of switch.node");
}

TEST_CASE("host tree: two hosts of one name are refused, or asked for by their whole names") {
  const std::string pattern = "SLURM_TOPOLOGY_ADDR_PATTERN=switch.node\n";
  CHECK(parse_host_tree(pattern + "SLURM_TOPOLOGY_ADDR=s1.a\nSLURM_TOPOLOGY_ADDR=s1.a\n", "env")
            .hosts.size() == 1);  // two tasks of a host
  CHECK(error_text([&] {
          parse_host_tree(pattern + "SLURM_TOPOLOGY_ADDR=s1.a\nSLURM_TOPOLOGY_ADDR=s2.a\n", "env");
        }) == "env:3: host a is at s1.a and at s2.a");
  const HostTree tree = parse_host_tree("SwitchName=s1 Nodes=a.x,a.y,b.x\n", "t.conf");
  CHECK(tree.find("a.y") == 1);
  CHECK(tree.find("b") == 2);
  CHECK(error_text([&] { tree.find("a"); }) ==
        "host a may be a.x or a.y\nhint: say the whole name");
}

TEST_CASE("host tree: nodes of Kubernetes by the labels that they have") {
  const HostTree aws = tree_of("aws-nodes.yaml");
  CHECK(aws.kind == "nodes of Kubernetes");
  CHECK(host(aws, "ip-10-1-3-1").switches == Names{"nn-ccc1", "nn-bbb0", "nn-aaaa"});
  const HostTree topograph = tree_of("topograph-nodes.json");
  CHECK(host(topograph, "node-5").switches == Names{"s2", "spine1"});
  CHECK(host(topograph, "node-5").domain == "nvl1");
  CHECK(host(tree_of("topograph-nodes.json", {"fabric.topograph.run/tier-1"}), "node-5").switches ==
        Names{"spine1"});
  const HostTree instances = tree_of("topograph-instances.json");
  CHECK(host(instances, "I23").switches == Names{"leaf-b", "spine-a"});
  CHECK(error_text([] { tree_of("aws-nodes.yaml", {"rack"}); }) ==
        "aws-nodes.yaml: no node has the label \"rack\"\n"
        "hint: kubectl get nodes --show-labels lists those there are");
}

TEST_CASE("host tree: a Topology of KAI says which labels, and racks of two blocks are two") {
  const HostTree tree = tree_of("kai-topology-and-nodes.yaml");
  CHECK(host(tree, "gpu-0").switches == Names{"rack-0", "block-0"});
  CHECK(host(tree, "gpu-4").switches == Names{"block-1/rack-0", "block-1"});
}

TEST_CASE("host tree: Volcano's HyperNodes") {
  const HostTree tree = tree_of("volcano-hypernodes.yaml");
  CHECK(tree.kind == "HyperNodes of Volcano");
  CHECK(host(tree, "node-5").switches == Names{"s2", "s5", "s6"});
}

TEST_CASE("host tree: ibnetdiscover has leaves with their spines") {
  const std::string path = fmt::format("{}/logs/hdr-fat-tree-faked.txt", FABRICAST_TEST_DATA);
  const HostTree tree = parse_host_tree(read_text_file(path), "ib.txt");
  CHECK(tree.kind == "ibnetdiscover");
  CHECK(tree.hosts.size() == 10);
  for (const TreeHost& one : tree.hosts) CHECK(one.switches.size() == 2);
}

TEST_CASE("host tree: what is wrong is said with its line") {
  const auto conf = [](const std::string& text) {
    return error_text([&] { parse_host_tree(text, "t.conf"); });
  };
  CHECK(conf("SwitchName=s1 Nodes=a\nSwitchName=s1 Nodes=b\n") ==
        "t.conf:2: switch s1 once more\nhint: line 1 has it already");
  CHECK(conf("SwitchName=s1 Nods=a\n") ==
        "t.conf:1: unknown key \"Nods\"\nhint: did you mean \"Nodes\"?");
  CHECK(conf("SwitchName=s1 Nodes=a\nSwitchName=s2 Nodes=a\n")
            .starts_with("t.conf:2: host a hangs on s1 and on s2"));
  CHECK(conf("SwitchName=leaf1 Nodes=a\nSwitchName=top Switches=leaf1,leaf2\n") ==
        "t.conf:2: there is no switch leaf2\nhint: did you mean \"leaf1\"?");
  CHECK(conf("SwitchName=a Switches=b Nodes=x\nSwitchName=b Switches=a\nSwitchName=c Nodes=x\n"
             "SwitchName=d Switches=c\n") == "no error");  // no host hangs in the circle
  CHECK(conf("SwitchName=a Switches=b\nSwitchName=b Switches=a,c\nSwitchName=c Nodes=x\n")
            .find("hangs below itself") != std::string::npos);
  CHECK(conf("hello: 1\n").starts_with("t.conf: hosts and switches of no kind that is known"));
  CHECK(conf("- topology: x\n  flat: true\n")
            .starts_with("t.conf:1: no topology of type tree or block is in it"));
  CHECK(conf("kind: Node\nmetadata: {name: a}\n")
            .starts_with("t.conf: no label of the nodes names a switch"));
}

}  // namespace fabricast
