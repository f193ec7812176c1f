// Goal: a topology leaves the program in every format and comes back the same; NCCL's XML becomes
// hardware of the catalogue.
// Method: round trips of the presets and of small XML files; edges by hand.

#include <doctest/doctest.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "models/io/nccl_xml/nccl_xml.hpp"
#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/import_node.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/simulation.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

Cluster cluster_in(const std::string& text) {
  return parse_cluster(text, "t.xml", {"", 1, ""}, load_catalogue());
}
/// One CPU with this below it.
std::string below_xeon(const std::string& text) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
         "familyid=\"6\" modelid=\"143\">" +
         text + "</cpu></system>";
}

// Two bridged cards in the order 1, 0, behind an unknown switch that calls itself gen 2, a two-port
// adapter and a socket interface.
const std::string kOdd = below_xeon(R"(
<pci busid="0000:10:00.0" class="0x060400" vendor="0xffff" device="0xffff" link_speed="5 GT/s" link_width="16">
  <pci busid="0000:12:00.0" class="0x030200" vendor="0x10de" device="0x2321" link_speed="32.0 GT/s PCIe" link_width="16">
    <gpu dev="1" sm="90" gdr="0"><nvlink target="0000:11:00.0" count="12" tclass="0x030200"/></gpu></pci>
  <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2321" link_speed="32.0 GT/s PCIe" link_width="8">
    <gpu dev="0" sm="90"><nvlink target="0000:12:00.0" count="12" tclass="0x030200"/></gpu></pci>
  <pci busid="0000:20:00.0" class="0x020000" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
    <nic><net name="mlx5_0" speed="200000" port="1" guid="0xab" gdr="1"/>
         <net name="mlx5_1" speed="200000" port="2" guid="0xab" gdr="1"/></nic></pci>
</pci>
<nic><net name="eth0" speed="25000"/></nic>)");

}  // namespace

TEST_CASE("topo yaml: every preset reads back to the same node") {
  const PartsCatalogue parts = load_catalogue();
  for (const std::string& name : preset_names()) {
    CAPTURE(name);
    const Cluster first = load_cluster({name, 1, ""}, parts);
    const std::string yaml = topo_yaml(first.node(), parts);
    const Cluster second = parse_cluster(yaml, "t.yaml", {"", 1, ""}, parts);
    CHECK(describe(second.node()).cpus == describe(first.node()).cpus);
    CHECK(topo_json(second) == topo_json(Cluster(first.node(), 1, second.fabric())));
    CHECK(topo_yaml(second.node(), parts) == yaml);
  }
}

TEST_CASE("topo xml: every preset reads back to the same description") {
  const PartsCatalogue parts = load_catalogue();
  for (const std::string& name : preset_names()) {
    CAPTURE(name);
    const NodeDescription node = load_description(name, parts);
    CHECK(parse_nccl_xml(to_nccl_xml(node), "t.xml").cpus == node.cpus);
  }
  const NodeDescription odd = parse_nccl_xml(kOdd, "t.xml");
  CHECK(parse_nccl_xml(to_nccl_xml(odd), "t.xml").cpus == odd.cpus);
}

TEST_CASE("import: NCCL's XML of a preset is the preset") {
  const PartsCatalogue parts = load_catalogue();
  for (const char* name : {"dgx-a100", "dgx-h100", "hgx-h200-2nic", "pcie-2gpu", "hgx-b200"}) {
    CAPTURE(name);
    const NodeGraph preset = load_cluster({name, 1, ""}, parts).node();
    const NodeGraph read = cluster_in(to_nccl_xml(preset)).node();
    CHECK(describe(read).cpus == describe(preset).cpus);
    REQUIRE(read.links().size() == preset.links().size());
    for (std::size_t l = 0; l < read.links().size(); ++l) {
      CHECK(read.links()[l].rate == preset.links()[l].rate);
      CHECK(read.links()[l].latency == preset.links()[l].latency);
    }
  }
}

TEST_CASE("import: odd devices find their parts and keep what they say of themselves") {
  const Cluster cluster = cluster_in(kOdd);
  const NodeGraph& node = cluster.node();
  SUBCASE("GPUs count by dev") {
    REQUIRE(node.gpus().size() == 2);
    CHECK(node.vertex(node.gpus()[0].vertex).busid == "0000:11:00.0");
    CHECK(node.vertex(node.gpus()[0].vertex).name == "gpu0");
    CHECK(node.vertex(node.gpus()[0].vertex).pcie_width == 8);
    CHECK(node.gpus()[0].part.name == "H100_NVL");
    CHECK_FALSE(node.gpus()[1].gdr);
    CHECK(node.nvlinks_between(node.find("gpu0"), node.find("gpu1")) == 12);
  }
  SUBCASE("a virtual switch does not slow its devices down") {
    const Vertex& pcie_switch = node.vertex(node.find("pcisw0"));
    CHECK(pcie_switch.part == "PEX89144");
    CHECK(pcie_switch.pcie_gen == 5);
    CHECK(pcie_switch.ids.vendor == "0xffff");
  }
  SUBCASE("one NIC per port, one without PCIe") {
    REQUIRE(node.nics().size() == 3);
    CHECK(node.nics()[0].part.name == "ConnectX-7");
    CHECK(node.nics()[0].speed == Bandwidth{25'000'000'000});
    CHECK(node.nics()[1].port == 2);
    CHECK(node.vertex(node.nics()[1].vertex).busid == "0000:20:00.1");
    CHECK(node.nics()[2].name == "eth0");
    CHECK(node.nics()[2].part.name == "ConnectX-4-Lx");
    CHECK(node.vertex(node.nics()[2].vertex).busid.empty());
  }
  SUBCASE("as YAML it comes back") {
    const PartsCatalogue parts = load_catalogue();
    const std::string yaml = topo_yaml(node, parts);
    CAPTURE(yaml);
    const Cluster again = parse_cluster(yaml, "t.yaml", {"", 1, ""}, parts);
    CHECK(topo_tree(again) == topo_tree(cluster));
    CHECK(describe(again.node()).cpus == describe(node).cpus);
  }
}

TEST_CASE("import: NCCL decides on the XML itself") {
  // A width of 0 is 16 lanes to NCCL, and an unknown speed gen 3; the card has gen 5.
  const std::string text = below_xeon(
      R"(<pci busid="1:0:0.0" device="0x26b9"><gpu dev="2" sm="89"/></pci>
         <pci busid="2:0:0.0" device="0x26b9"><gpu dev="5" sm="89"/></pci>)");
  const Cluster cluster = cluster_in(text);
  CommunicatorConfig config;
  config.description = parse_nccl_xml(text, "t.xml");
  const Communicator own = make_communicator(cluster, config);
  config.description.reset();
  const Communicator hardware = make_communicator(cluster, config);
  CHECK(own.model.input.ring.bw_intra == 10);       // of 12, through an Intel root: 6/5 on PCIe
  CHECK(hardware.model.input.ring.bw_intra == 20);  // of 24
}

TEST_CASE("communicator: a host that NCCL splits is as many nodes as it has groups") {
  // 25 GB/s to each GPU's own NIC, 22 GB/s between the sockets.
  const auto host = [](std::initializer_list<const char*> sockets) {
    std::string text = "<system version=\"1\">";
    for (const char* numa : sockets) {
      text += std::string("<cpu numaid=\"") + numa +
              R"(" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
            <pci busid="0000:1)" +
              numa + R"(:00.0" class="0x060400" link_speed="32.0 GT/s PCIe">
            <pci busid="0000:2)" +
              numa + R"(:00.0" link_speed="32.0 GT/s PCIe"><gpu sm="90"/></pci>
            <pci busid="0000:3)" +
              numa + R"(:00.0" link_speed="32.0 GT/s PCIe">
              <nic><net name="n)" +
              numa + R"(" speed="200000" gdr="1" guid="0x)" + numa +
              R"("/></nic></pci></pci></cpu>)";
    }
    return text + "</system>";
  };
  const auto decided = [&](std::initializer_list<const char*> sockets, int hosts,
                           std::int64_t count, std::size_t warnings) {
    const std::string text = host(sockets);
    const Cluster cluster = parse_cluster(text, "t.xml", {"", hosts, ""}, load_catalogue());
    CommunicatorConfig config;
    config.description = parse_nccl_xml(text, "t.xml");
    const Communicator made = make_communicator(cluster, config);
    REQUIRE(made.warnings.size() == warnings);
    if (warnings > 0)
      CHECK(made.warnings[0].find("fall apart into 2 groups that NCCL joins by the network") !=
            std::string::npos);
    const DecidedCall call = decide_call(made, {Collective::all_reduce, count, 4, 0});
    CHECK(call.run.members.ranks() == 4);
    CHECK(call.run.members.node_count() == 4);
    return std::pair{call.run, simulate(cluster, load_catalogue().software, call.run).time.ps};
  };
  for (const std::int64_t count : {1 << 8, 1 << 16, 1 << 22}) {
    const auto [split, time] = decided({"0", "1"}, 2, count, 2);
    const auto [whole, expected] = decided({"0"}, 4, count, 0);
    CHECK(split.algorithm == whole.algorithm);
    CHECK(split.protocol == whole.protocol);
    CHECK(split.threads == whole.threads);
    // Its two NICs hang on two leaves, a spine away.
    CHECK(static_cast<double>(time) / static_cast<double>(expected) ==
          doctest::Approx(1).epsilon(0.15));
  }
}

TEST_CASE("import: what has no part is refused") {
  const auto error = [](const std::string& device) {
    return error_text([&] { cluster_in(below_xeon(device)); });
  };
  const std::string unknown =
      error(R"(<pci busid="1:0:0.0" device="0x9999"><gpu sm="999"/></pci>)");
  CHECK(
      unknown.starts_with("t.xml: 1:0:0.0: no GPU of the catalogue is like this one: device "
                          "\"0x9999\", sm 999, 0 NVLinks\nhint: known: A10 (sm 86), "));
  CHECK(unknown.find(", A100_PCIE_80 (sm 80), ") != std::string::npos);
  CHECK(unknown.ends_with("; --parts adds others"));
  CHECK(
      error(R"(<pci busid="1:0:0.0"><gpu sm="90"><c2c count="11" bw="44712"/></gpu></pci>)")
          .starts_with("t.xml: 1:0:0.0: no GPU of the catalogue is like this one: device \"\", sm "
                       "90, 0 NVLinks, 11 NVLink-C2C\nhint: known: "));
  CHECK(error(R"(<pci busid="1:0:0.0" class="0x030200"/>)")
            .starts_with("t.xml: the GPU at 1:0:0.0 has no compute capability"));
}

TEST_CASE("import: a GPU with NVLink-C2C is one of a superchip") {
  const auto part = [](const std::string& gpu) {
    const std::string device = R"(<pci busid="1:0:0.0" class="0x030200">)" + gpu + "</pci>";
    return cluster_in(below_xeon(device)).node().gpus()[0];
  };
  const GpuInfo grace = part(R"(<gpu sm="90"><c2c count="10" bw="44712"/></gpu>)");
  CHECK(grace.part.name == "GH200");
  CHECK(grace.c2c_links == 10);
  CHECK(part(R"(<gpu sm="100"><c2c count="5" bw="44712"/></gpu>)").part.name == "GB200");
  CHECK(part(R"(<gpu sm="90"/>)").part.name == "H100_NVL");  // the fewest links that will do
}

TEST_CASE("topo json: devices and links by name") {
  const auto json =
      nlohmann::json::parse(topo_json(load_cluster({"pcie-2gpu", 2, ""}, load_catalogue())));
  CHECK(json["nodes"] == 2);
  CHECK(json["devices"].size() == 4);
  CHECK(json["devices"][1]["name"] == "gpu0");
  CHECK(json["devices"][1]["kind"] == "gpu");
  CHECK(json["devices"][1]["parent"] == "cpu0");
  CHECK(json["devices"][3]["port_bytes_per_s"] == 3'125'000'000);
  CHECK(json["links"].size() == 6);
  CHECK(json["links"][0]["bytes_per_s"] == 26'000'000'000);
  CHECK(json["fabric"]["is_assumed"] == true);
}

TEST_CASE("topo dot: every device and every link once") {
  const std::string dot =
      topo_dot(load_cluster({"h100-pcie-nvl-4", 1, ""}, load_catalogue()).node());
  const auto count = [&](std::string_view text) {
    int found = 0;
    for (std::size_t at = dot.find(text); at != std::string::npos; at = dot.find(text, at + 1))
      ++found;
    return found;
  };
  CHECK(count("subgraph") == 2);
  CHECK(count("fillcolor=palegreen") == 4);
  CHECK(count(" -- ") == 6 + 2 + 1);  // PCIe, NVLink pairs, sockets
  CHECK(count("\"gpu0\" -- \"gpu1\" [label=\"NVLink x12") == 1);
}
