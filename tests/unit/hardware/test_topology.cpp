// Goal: the graph inside a node has the links, rates and names of the machine it stands for.
// Method: each preset against the topology XML of that name, byte for byte; rates and latencies
// against the product of the parts' figures; small nodes written here for what no preset has.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "models/io/nccl_xml/nccl_xml.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/topologies/load.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

NodeGraph preset(const std::string& name) {
  return NodeGraph::build(load_node_type(name), load_catalogue());
}

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Duration latency(const NodeGraph& node, const std::vector<LinkId>& route) {
  Duration sum{};
  for (const LinkId id : route) sum += node.link(id).latency;
  return sum;
}

Bandwidth rate(const NodeGraph& node, const std::vector<LinkId>& route) {
  Bandwidth lowest = node.link(route.front()).rate;
  for (const LinkId id : route) lowest = std::min(lowest, node.link(id).rate);
  return lowest;
}

/// Each link starts where the one before ends, the first at `from`, the last at `to`.
bool connects(const NodeGraph& node, const std::vector<LinkId>& route, VertexId from, VertexId to) {
  VertexId at = from;
  for (const LinkId id : route) {
    if (node.link(id).from != at) return false;
    at = node.link(id).to;
  }
  return at == to;
}

}  // namespace

TEST_CASE("presets are NCCL's topology XML of the same name, byte for byte") {
  for (const char* name : {"dgx-a100", "dgx-h100", "hgx-h200-2nic", "pcie-2gpu"}) {
    CAPTURE(name);
    const std::string expected =
        slurp(std::string(FABRICAST_TEST_DATA "/nccl-xml/") + name + ".xml");
    CHECK(to_nccl_xml(preset(name)) == expected);
  }
}

TEST_CASE("every preset loads, in a cluster of two nodes, too") {
  const PartsCatalogue parts = load_catalogue();
  CHECK(preset_names() ==
        std::vector<std::string>{"dgx-a100", "dgx-h100", "dgx-h100-su", "dgx2-v100", "gb200-nvl72",
                                 "gb300-nvl72", "gh200-4", "h100-pcie-nvl-4", "h200-nvl-8",
                                 "hgx-b200", "hgx-b300", "hgx-h200", "hgx-h200-2nic",
                                 "hgx-h200-2nic-split", "pcie-2gpu", "pcie-8"});
  for (const std::string& name : preset_names()) {
    CAPTURE(name);
    CHECK(load_cluster({name, 2, ""}, parts).nodes() == 2);
  }
}

TEST_CASE("every source of the catalogue backs at least one figure") {
  const EmbeddedFile* file = find_embedded(embedded_topologies(), "parts");
  REQUIRE(file != nullptr);
  const PartsCatalogue parts = load_catalogue();
  for (const auto& source : parts.sources) {
    CAPTURE(source.first);
    CHECK(file->text.find("source: " + source.first + ",") != std::string_view::npos);
  }
}

TEST_CASE("DGX H100: what a person would count") {
  const NodeGraph node = preset("dgx-h100");
  CHECK(node.gpus().size() == 8);
  CHECK(node.nics().size() == 8);
  CHECK(node.cpus().size() == 2);
  CHECK(node.nvswitches().size() == 4);
  // 24 PCI elements with a link up and down, 8 GPUs with a link to and from the NVSwitch plane, and
  // the socket link in both directions.
  CHECK(node.links().size() == 24 * 2 + 8 * 2 + 2 + 2 + 8);  // memory of 2 CPUs, 8 root ports
  CHECK(node.gpus()[3].nvlink_count == 18);
  CHECK(node.nics()[1].name == "mlx5_3");
  CHECK(node.nics()[1].rail == 1);
}

TEST_CASE("NVLink through the NVSwitch plane carries links x rate x store efficiency") {
  const PartsCatalogue parts = load_catalogue();
  // sm90: NCCL's own figure (src/graph/topo.h), 20.6 GB/s per link; sm80: as measured, 0.78 of 25.
  struct Expectation {
    const char* preset;
    std::int64_t links, mb_per_link;
    const char* nvswitch;
  };
  for (const Expectation& expected : {Expectation{"dgx-h100", 18, 20'600, "NVSwitch3"},
                                      {"dgx-a100", 12, 19'500, "NVSwitch2"},
                                      {"hgx-h200-2nic", 18, 20'600, "NVSwitch3"}}) {
    CAPTURE(expected.preset);
    const NodeGraph node = preset(expected.preset);
    const VertexId from = node.gpus()[0].vertex, to = node.gpus()[7].vertex;
    const std::vector<LinkId> route = node.nvlink_route(from, to);
    REQUIRE(route.size() == 2);
    CHECK(connects(node, route, from, to));
    CHECK(rate(node, route).bytes_per_s == expected.links * expected.mb_per_link * 1'000'000);
    CHECK(latency(node, route) == parts.nvswitches.at(expected.nvswitch).latency);
    CHECK(node.nvlinks_between(from, to) == expected.links);
    CHECK(node.smi_path(from, to) == SmiPath::nvlink);
  }
}

TEST_CASE("PCIe routes: under one switch, over the root complex, over the sockets") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph node = preset("dgx-h100");
  const VertexId gpu0 = node.find("gpu0"), own = node.find("mlx5_0"), near = node.find("mlx5_3"),
                 far = node.find("mlx5_6");
  const Duration hop = parts.pcie_switches.at("PEX89144").latency;
  const CpuPart& cpu = parts.cpus.at("Intel_8480C");
  const Bandwidth gen5 = parts.pcie.at(5).effective_x16;

  // gpu0 - pcisw0 - mlx5_0: a GPU adds nothing, the switch its latency.
  std::vector<LinkId> route = node.pcie_route(gpu0, own);
  CHECK(route.size() == 2);
  CHECK(connects(node, route, gpu0, own));
  CHECK(latency(node, route) == hop);
  CHECK(rate(node, route) == gen5);
  // And back: the NIC pays its own latency once.
  CHECK(latency(node, node.pcie_route(own, gpu0)) == parts.nics.at("ConnectX-7").latency + hop);

  // gpu0 - pcisw0 - cpu0 - root port - cpu0 - pcisw1 - mlx5_3: 0.67 of what DMA reaches.
  route = node.pcie_route(gpu0, near);
  CHECK(route.size() == 5);
  CHECK(rate(node, route).bytes_per_s == gen5.bytes_per_s * 67 / 100);
  CHECK(connects(node, route, gpu0, near));
  CHECK(latency(node, route) == hop + cpu.root_latency + hop);

  // gpu0 - pcisw0 - cpu0 - cpu1 - pcisw4 - mlx5_6: the socket link is the bottleneck.
  route = node.pcie_route(gpu0, far);
  CHECK(route.size() == 6);
  CHECK(connects(node, route, gpu0, far));
  CHECK(latency(node, route) ==
        hop + cpu.root_latency + cpu.socket_latency + cpu.root_latency + hop);
  CHECK(rate(node, route) == cpu.socket_rate);
  CHECK(node.cpu_of(far) == node.find("cpu1"));
}

TEST_CASE("a PCIe link runs at the lower generation and its own width") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph node = preset("pcie-2gpu");
  const VertexId nic = node.find("mlx5_0");
  const NodeLink& link = node.link(node.pcie_route(nic, node.cpu_of(nic)).front());
  CHECK(link.rate.bytes_per_s == parts.pcie.at(3).effective_x16.bytes_per_s / 2);
  CHECK(node.gpus()[0].nvlink_count == 0);
  CHECK(node.nvlink_route(node.find("gpu0"), node.find("gpu1")).empty());
  CHECK_FALSE(node.nics()[0].gdr);
}

TEST_CASE("all pairs of devices are connected, in every preset") {
  for (const char* name :
       {"dgx-a100", "dgx-h100", "hgx-h200-2nic", "hgx-h200-2nic-split", "pcie-2gpu"}) {
    const NodeGraph node = preset(name);
    std::vector<VertexId> devices;
    for (const GpuInfo& gpu : node.gpus()) devices.push_back(gpu.vertex);
    for (const NicInfo& nic : node.nics()) devices.push_back(nic.vertex);
    for (const CpuInfo& cpu : node.cpus()) devices.push_back(cpu.vertex);
    for (const VertexId from : devices) {
      for (const VertexId to : devices) {
        const std::vector<LinkId> route = node.pcie_route(from, to);
        CHECK(connects(node, route, from, to));
        CHECK(route.empty() == (from == to));
      }
    }
  }
}

TEST_CASE("distance words of nvidia-smi") {
  const NodeGraph a100 = preset("dgx-a100");
  const auto word = [](const NodeGraph& node, const char* from, const char* to) {
    return node.smi_path(node.find(from), node.find(to));
  };
  CHECK(word(a100, "gpu0", "gpu0") == SmiPath::self);
  CHECK(word(a100, "gpu0", "mlx5_0") == SmiPath::pix);  // same lower switch
  CHECK(word(a100, "gpu0", "mlx5_1") == SmiPath::pxb);  // up to the upper switch and down
  CHECK(word(a100, "gpu0", "mlx5_2") == SmiPath::sys);
  const NodeGraph h100 = preset("dgx-h100");
  CHECK(word(h100, "gpu0", "mlx5_3") == SmiPath::node);  // same socket, another host bridge
  CHECK(word(h100, "mlx5_3", "gpu0") == SmiPath::node);
  const NodeGraph split = preset("hgx-h200-2nic-split");
  CHECK(word(split, "gpu3", "mlx5_0") == SmiPath::pix);
  CHECK(word(split, "gpu4", "mlx5_1") == SmiPath::pix);
}

namespace {

/// Two GPUs under one CPU; `first` and `second` are more keys of each.
std::string two_gpus(const std::string& first, const std::string& second) {
  return "kind: node\nname: pair\ncpus:\n"
         "  - cpu: AMD_Rome_7742\n    numa: 0\n    affinity: \"ff\"\n    pci:\n"
         "      - {gpu: V100_SXM2_32, busid: \"0000:01:00.0\"" +
         first +
         "}\n"
         "      - {gpu: V100_SXM2_32, busid: \"0000:02:00.0\"" +
         second + "}\n";
}

NodeGraph graph_of(const std::string& text) {
  return NodeGraph::build(parse_node_type(text, "pair.yaml"), load_catalogue());
}

}  // namespace

TEST_CASE("NVLinks between two GPUs, named by the device or its bus id") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph node =
      graph_of(two_gpus(", nvlink: {gpu1: 2}", ", nvlink: {\"0000:01:00.0\": 2}"));
  const VertexId a = node.find("gpu0"), b = node.find("gpu1");
  const std::vector<LinkId> route = node.nvlink_route(a, b);
  REQUIRE(route.size() == 1);
  CHECK(node.link(route.front()).rate.bytes_per_s == 2 * 20'000'000'000);
  CHECK(latency(node, route) == parts.gpus.at("V100_SXM2_32").nvlink_latency);
  CHECK(node.nvlinks_between(a, b) == 2);
  CHECK(node.link_name(route.front()) == "gpu0 -> gpu1 (NVLink x2)");
  CHECK(
      to_nccl_xml(node).find("<nvlink target=\"0000:02:00.0\" count=\"2\" tclass=\"0x030200\"/>") !=
      std::string::npos);
}

TEST_CASE("root ports of one host bridge are PHB, of two NODE") {
  const NodeGraph apart = graph_of(two_gpus("", ""));
  CHECK(apart.smi_path(apart.find("gpu0"), apart.find("gpu1")) == SmiPath::node);
  const NodeGraph together = graph_of(two_gpus(", host_bridge: 4", ", host_bridge: 4"));
  CHECK(together.smi_path(together.find("gpu0"), together.find("gpu1")) == SmiPath::phb);
}

TEST_CASE("a node type that is given its PCIe width keeps it") {
  const NodeGraph node = graph_of(two_gpus(", pcie_width: 8", ", pcie_gen: 3, name: second"));
  CHECK(node.vertex(node.find("gpu0")).pcie_width == 8);
  CHECK(node.find("second") == node.gpus()[1].vertex);
}
