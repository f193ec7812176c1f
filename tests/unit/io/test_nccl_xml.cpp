// Goal: NCCL's topology XML is read as NCCL reads it, whatever wrote it.
// Method: one small text per situation met in files of vendors, clouds and NCCL itself.

#include <doctest/doctest.h>

#include <string>

#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/search/nccl_search.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

NodeDescription parse(const std::string& text) { return parse_nccl_xml(text, "t.xml"); }
std::string error_of(const std::string& text) {
  return error_text([&] { check_is_detected(parse(text)); });
}

/// A topology with this below its one CPU, from line 3 on.
std::string below_cpu(const std::string& text) {
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n" + text + "\n</cpu></system>";
}

const std::string kGpu =
    R"(<pci busid="0000:0f:00.0" class="0x030200"><gpu dev="0" sm="90"/></pci>)";

/// Rings and trees over all GPUs of one node.
SearchResult search_one_node(const NodeDescription& node, NcclVersion version) {
  SearchInput input;
  input.version = version;
  input.gpus = gpu_devs(node);
  input.nics = net_devs(node);
  return search(node, input);
}

}  // namespace

TEST_CASE("nccl xml: everything NCCL writes is read") {
  const NodeDescription node = parse(R"(<?xml version="1.0"?>
<!-- a comment -->
<system version="1">
  <cpu host_hash="0x5b" numaid="1" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:08:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x0072" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0f:00.0" class="0x030200" vendor="0x10de" device="0x2342" link_speed="" link_width="0">
        <gpu dev="3" sm="90" rank="0" gdr="0" keep="1">
          <nvlink target="0000:1c:00.0" count="5" tclass="0x068000"/>
          <c2c bw="44712" count="10"/>
        </gpu>
      </pci>
      <pci busid="0000:0c:00.0" class="0x020000">
        <nic>
          <net name="mlx5_0" dev="4" speed="180000" port="1" latency="0.5" guid="0x4cd84d958e03c288" maxconn="131072" gdr="1" coll="1"/>
          <net name="mlx5_1" dev="5" speed="180000" port="2" guid="4cd84d958e03c288"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>)");
  REQUIRE(node.cpus.size() == 1);
  const NodeDescription::Cpu& cpu = node.cpus[0];
  CHECK(cpu.numa == 1);
  CHECK(cpu.host_hash == "0x5b");
  CHECK(cpu.affinity == "ff");
  CHECK(cpu.arch == "x86_64");
  CHECK(cpu.vendor == "GenuineIntel");
  CHECK(cpu.family == 6);
  CHECK(cpu.model == 143);
  REQUIRE(cpu.children.size() == 1);
  const NodeDescription::Pci& top = cpu.children[0];
  CHECK(top.busid == "0000:08:00.0");
  CHECK(top.device == "0xc030");
  CHECK(top.subsystem_device == "0x0072");
  CHECK(top.link_speed == "32.0 GT/s PCIe");
  CHECK(top.link_width == 16);
  REQUIRE(top.children.size() == 2);
  const NodeDescription::Gpu& gpu = *top.children[0].gpu;
  CHECK(gpu.dev == 3);
  CHECK(gpu.sm == 90);
  CHECK_FALSE(gpu.gdr);
  CHECK(gpu.nvlinks == std::vector<NodeDescription::Nvlink>{{"0000:1c:00.0", 5, "0x068000"}});
  CHECK(gpu.c2c == std::vector<NodeDescription::C2c>{{10, 44712}});
  const auto& nets = top.children[1].nic->nets;
  REQUIRE(nets.size() == 2);
  CHECK(nets[0] ==
        NodeDescription::Net{"mlx5_0", 0, 180000, 1, 0x4cd84d958e03c288, true, 0.5F, 131072, true});
  CHECK(
      nets[1] ==
      NodeDescription::Net{
          .name = "mlx5_1", .dev = 1, .speed_mbps = 180000, .port = 2, .guid = 0x4cd84d958e03c288});
}

TEST_CASE("nccl xml: what is odd or missing is taken as NCCL takes it") {
  SUBCASE("a socket interface hangs directly on its CPU; elements NCCL does not know are nothing") {
    const NodeDescription node = parse(below_cpu(
        kGpu + R"(<nic><net name="eth0" speed="-1" guid="0x0"/></nic><numa/><pcilink/>)"));
    REQUIRE(node.cpus[0].children.size() == 2);
    CHECK(node.cpus[0].children[1].busid.empty());
    CHECK(node.cpus[0].children[1].nic->nets[0].guid == 0);
    // No speed counts as 10 Gb/s.
    const NcclGraph graph = NcclGraph::build(node, kNccl2_27_7, gpu_devs(node), net_devs(node));
    CHECK(graph.vertex(graph.at(TopoKind::net, 0)).net.bw == doctest::Approx(1.25));
  }
  SUBCASE("a CPU of unknown make does not bound traffic between sockets") {
    const NodeDescription node = parse(R"(<system version="1">
      <cpu numaid="0"><pci busid="1:0:0.0"><gpu sm="80"/></pci></cpu>
      <cpu numaid="1" arch="riscv64"><pci busid="2:0:0.0"><gpu sm="80"/></pci></cpu></system>)");
    const NcclGraph graph = NcclGraph::build(node, kNccl2_21_5, gpu_devs(node), {});
    for (const TopoLink& link : graph.links()) {
      if (link.kind == TopoLinkKind::sys) CHECK(link.bw == kLocalBw);
      if (link.kind == TopoLinkKind::pci) CHECK(link.bw == 12);  // unknown speed: gen 3 x16
    }
  }
  SUBCASE("words are compared as far as NCCL's own go") {
    const NodeDescription node = parse(
        R"(<system version="1"><cpu numaid="0" arch="ppc64le">
        <pci busid="1:0:0.0" link_speed="32 GT/s PCIe/s" link_width="16"><gpu sm="70"/></pci>
        </cpu></system>)");
    const NcclGraph graph = NcclGraph::build(node, kNccl2_21_5, gpu_devs(node), {});
    CHECK(graph.first_cpu().cpu.arch == CpuArch::power);
    CHECK(graph.links()[0].bw == 48);
  }
  SUBCASE("GPUs without dev are numbered by bus id, around those that have one") {
    const NodeDescription node = parse(below_cpu(R"(<pci busid="3:0:0.0"><gpu sm="80"/></pci>
                           <pci busid="2:0:0.0"><gpu sm="80" dev="1"/></pci>
                           <pci busid="1:0:0.0"><gpu sm="80"/></pci>)"));
    CHECK(node.cpus[0].children[0].gpu->dev == 2);
    CHECK(node.cpus[0].children[1].gpu->dev == 1);
    CHECK(node.cpus[0].children[2].gpu->dev == 0);
  }
  SUBCASE("nothing is looked for below what is no PCIe switch") {
    const NodeDescription node = parse(below_cpu(
        kGpu +
        R"(<pci busid="1:0:0.0" class="0x068000"><pci busid="2:0:0.0"><gpu sm="80"/></pci></pci>
                  <pci busid="3:0:0.0"><gpu sm="80"/><pci busid="4:0:0.0"><gpu sm="80"/></pci></pci>)"));
    CHECK(gpu_devs(node) == std::vector<int>{0, 1});
  }
  SUBCASE("an NVLink end without class is the GPU of that bus id, else an NVSwitch") {
    const NodeDescription node = parse(below_cpu(
        R"(<pci busid="1:0:0.0" class="0x030200"><gpu sm="80"><nvlink target="2:0:0.0" count="2"/></gpu></pci>
           <pci busid="2:0:0.0" class="0x030200"><gpu sm="80"><nvlink target="9:0:0.0" count="2"/></gpu></pci>)"));
    CHECK(node.cpus[0].children[0].gpu->nvlinks[0].tclass == "0x030200");
    CHECK(node.cpus[0].children[1].gpu->nvlinks[0].tclass == "0x068000");
  }
  SUBCASE("a GPU linked to itself, as in some virtual machines, gains nothing from it") {
    const NodeDescription node = parse(below_cpu(
        R"(<pci busid="1:0:0.0"><gpu sm="80"><nvlink target="1:0:0.0" count="12" tclass="0x030200"/></gpu></pci>
           <pci busid="2:0:0.0"><gpu sm="80"><nvlink target="2:0:0.0" count="12" tclass="0x030200"/></gpu></pci>)"));
    const SearchResult found = search_one_node(node, kNccl2_21_5);
    CHECK(found.ring.type_intra == PathType::phb);
    CHECK(found.ring.bw_intra <= 12);
  }
  SUBCASE("the functions of one adapter may stand in several places under one bus id") {
    const NodeDescription node = parse(below_cpu(
        kGpu + R"(<pci busid="0000:ba:00.0"><nic><net name="a" speed="100000"/></nic></pci>
                  <pci busid="0000:ba:00.0"><nic><net name="b" speed="100000"/></nic></pci>)"));
    const NcclGraph graph = NcclGraph::build(node, kNccl2_21_5, gpu_devs(node), net_devs(node));
    CHECK(graph.count(TopoKind::nic) == 1);
    CHECK(graph.count(TopoKind::net) == 2);
  }
}

TEST_CASE("nccl xml: a file by hand leaves devices to NCCL's detection") {
  // As clouds publish them: only the PCI tree, with classes.
  const std::string text = below_cpu(R"(
<pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
  <pci busid="0001:00:00.0" class="0x030200"/>
  <pci busid="0101:00:00.0" class="0x020700"/>
</pci>)");
  const NodeDescription node = parse(text);
  const auto& below = node.cpus[0].children[0].children;
  CHECK(below[0].gpu->sm == 0);
  CHECK(below[0].gpu->dev == 0);
  CHECK(below[1].nic->nets.empty());
  CHECK(net_devs(node).empty());
  CHECK(
      error_of(text) ==
      "t.xml: the GPU at 0001:00:00.0 has no compute capability (<gpu sm=...>), nor its NVLinks: "
      "NCCL would ask the driver\nhint: NCCL_TOPO_DUMP_FILE=node.xml makes NCCL write a whole one "
      "on the machine itself");
}

TEST_CASE("nccl xml: what is no topology of a node is refused") {
  const auto starts = [](const std::string& text, const std::string& message) {
    CAPTURE(text.substr(0, 200));
    CHECK(error_of(text).substr(0, message.size()) == message);
  };
  starts(
      "<graphs version=\"1\"><graph id=\"0\"/></graphs>",
      "t.xml:1: graphs: these are graphs that NCCL found (NCCL_GRAPH_DUMP_FILE), not a topology");
  starts("\n<system version=\"2\"/>",
         "t.xml:2: system: version 2 is RCCL's, with GPUs of AMD; NCCL reads version 1 only");
  starts("<system/>", "t.xml:1: system: the attribute \"version\" is missing");
  starts("<system version=\"1\"/>", "t.xml:1: system: the node has no CPU");
  starts("<html>", "t.xml:1: not valid XML: ");
  starts("<html/>", "t.xml:1: html: <html> is not NCCL's topology: <system> is expected");
  starts("junk", "t.xml:1: not valid XML: No document element found");
  starts("", "t.xml:1: not valid XML: ");
  starts(below_cpu(""), "t.xml:1: system: the node has no GPU");
  starts(below_cpu("<pci busid=\"0000:00:16.0\"/><pci busid=\"0000:00:17.0\"/>"),
         "t.xml:1: system: no GPU: 2 PCI functions have neither a <gpu> or <nic> nor a class");
  starts(below_cpu("<pci/>"), "t.xml:3: system.cpu.pci: the attribute \"busid\" is missing");
  starts(below_cpu(kGpu + "\n<pci busid=\"x\"/>"),
         "t.xml:4: system.cpu.pci[1]: busid=\"x\" is not a PCI bus id\nhint: it looks like ");
  starts(below_cpu(kGpu + "<pci busid=\"0000:0f:00.0\" class=\"0x030200\"/>"),
         "t.xml:3: system.cpu.pci[1]: two GPUs at 0000:0f:00.0");
  starts(below_cpu(kGpu + R"(<pci busid="1:0:0.0"><gpu dev="0" sm="90"/></pci>)"),
         "t.xml:3: system.cpu.pci[1].gpu: dev 0 twice");
  starts(below_cpu(R"(<pci busid="1:0:0.0"><gpu sm="9.0"/></pci>)"),
         "t.xml:3: system.cpu.pci.gpu: sm=\"9.0\" is not a whole number");
  starts(below_cpu(R"(<pci busid="1:0:0.0"><gpu sm="99999999999999999999"/></pci>)"),
         "t.xml:3: system.cpu.pci.gpu: sm=\"99999999999999999999\" is not a whole number");
  starts(below_cpu(R"(<pci busid="1:0:0.0" link_width="-1"/>)"),
         "t.xml:3: system.cpu.pci: link_width=\"-1\" is out of range: 0 to 64");
  starts(below_cpu(R"(<pci busid="1:0:0.0"><gpu sm="80"><nvlink target="a"/></gpu></pci>)"),
         "t.xml:3: system.cpu.pci.gpu.nvlink: the attribute \"count\" is missing");
  starts(below_cpu(kGpu + R"(<nic><net latency="nan"/></nic>)"),
         "t.xml:3: system.cpu.nic.net: latency=\"nan\" is not a number from 0 to 1000000");
  starts(below_cpu(kGpu + R"(<nic><net guid="zz"/></nic>)"),
         "t.xml:3: system.cpu.nic.net: guid=\"zz\" is not a number like 0x1f");
  starts("<system version=\"1\"><cpu/></system>",
         "t.xml:1: system.cpu: the attribute \"numaid\" is missing");
  starts("<system version=\"1\"><cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/></system>",
         "t.xml:2: system.cpu[1]: numaid 0 twice");
  starts("<system version=\"1\"><cpu numaid=\"0\" host_hash=\"1\"/><cpu numaid=\"1\"/></system>",
         "t.xml:1: system.cpu[1]: CPUs of several hosts: one node is expected");
}

TEST_CASE("nccl xml: hostile text ends in an error") {
  const auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  SUBCASE("5,000 levels") {
    const std::string deep =
        below_cpu(repeated("<pci busid=\"1:0:0.0\">\n", 5000) + repeated("</pci>", 5000));
    CHECK(error_of(deep) == "t.xml:65: nested deeper than 64 levels");
  }
  SUBCASE("10 MB") {
    CHECK(error_of(std::string(10'000'000, '<')) == "t.xml: larger than 4 MiB");
    CHECK(error_of(below_cpu(repeated("<a/>", 200'000))) == "t.xml: more than 100000 elements");
  }
  SUBCASE("entities that grow are not expanded") {
    std::string text = "<!DOCTYPE s [<!ENTITY a0 \"0123456789\">";
    for (int i = 1; i < 40; ++i) {
      const std::string below = "&a" + std::to_string(i - 1) + ";";
      text += "<!ENTITY a" + std::to_string(i) + " \"" + repeated(below, 10) + "\">";
    }
    text += "]>" + below_cpu(R"(<pci busid="1:0:0.0"><gpu sm="&a39;"/></pci>)");
    CHECK(error_of(text) == "t.xml:3: system.cpu.pci.gpu: sm=\"&a39;\" is not a whole number");
  }
  SUBCASE("more devices than a node has") {
    std::string gpus, nets;
    for (int i = 0; i < 129; ++i)
      gpus += "<pci busid=\"" + std::to_string(i) + ":0:0.0\"><gpu sm=\"80\"/></pci>";
    CHECK(error_of(below_cpu(gpus)) ==
          "t.xml:3: system.cpu.pci[128]: more than 128 GPUs in one node");
    CHECK(error_of(below_cpu("<nic>" + repeated("<net/>", 577) + "</nic>")) ==
          "t.xml:3: system.cpu.nic.net[576]: more than 576 nets in one node");
    CHECK(error_of(below_cpu(repeated("<pci busid=\"1:0:0.0\"/>", 577))) ==
          "t.xml:3: system.cpu.pci[576]: more than 576 PCI functions");
  }
  SUBCASE("zero bytes and broken UTF-8") {
    CHECK(error_of(std::string("<system\0>", 9)).starts_with("t.xml:1: not valid XML"));
    CHECK(error_of(below_cpu("<pci busid=\"\xff\xfe\"/>")).starts_with("t.xml:3: "));
  }
}

TEST_CASE("nccl xml: 64 GPUs in one node are searched in bounded time" *
          minutes_under_sanitizers()) {
  // Every try has a budget of steps, as NCCL's has: what grows is only the cost of one step.
  const auto node_of = [](const std::string& nvlink) {
    std::string out = "<system version=\"1\">";
    for (int g = 0; g < 64; ++g) {
      if (g % 8 == 0) {
        out += (g == 0 ? "" : "</cpu>") + ("<cpu numaid=\"" + std::to_string(g / 8)) +
               R"(" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="17">)";
      }
      out += "<pci busid=\"" + std::to_string(g) + R"(:0:0.0" link_speed="32.0 GT/s PCIe">)" +
             "<gpu sm=\"90\">" + nvlink + "</gpu></pci>";
    }
    return parse(out + "</cpu></system>");
  };
  const NodeDescription switched =
      node_of(R"(<nvlink target="99:0:0.0" count="18" tclass="0x068000"/>)");
  CHECK(search_one_node(switched, kNccl2_27_7).ring.type_intra == PathType::nvl);
  CHECK(search_one_node(node_of(""), kNccl2_21_5).ring.type_intra == PathType::sys);
}

TEST_CASE("load: a description comes from a preset or from NCCL's own file") {
  const PartsCatalogue parts = load_catalogue();
  const std::string file = FABRICAST_TEST_DATA "/nccl-xml/dgx-a100.xml";
  CHECK(load_description(file, parts).cpus == load_description("dgx-a100", parts).cpus);
}
