// Goal: every mistake in a topology file is refused with its file, line, path, and what to do.
// Method: a good file and one changed line each; the whole message is compared.

#include <doctest/doctest.h>

#include "models/hardware/node/node_graph.hpp"
#include "models/io/topologies/load.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

constexpr const char* kGoodNode = R"(kind: node
name: small
nvswitches:
  - {nvswitch: NVSwitch3, name: nvs, busid: "0000:07:00.0"}
cpus:
  - cpu: Intel_8480C
    numa: 0
    affinity: "00000000,00ffffff"
    pci:
      - switch: PEX89144
        busid: "0000:16:00.0"
        pci:
          - {gpu: H100_SXM5, busid: "0000:1b:00.0", nvlink: {nvs: 18}}
          - {nic: ConnectX-7, name: mlx5_0, busid: "0000:18:00.0", speed: 400 Gb/s}
)";

/// The text with one piece replaced, which must be there.
std::string with(std::string text, const std::string& piece, const std::string& other) {
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), other);
}

std::string message(const std::string& text) {
  return error_text([&] { NodeGraph::build(parse_node_type(text, "n.yaml"), load_catalogue()); });
}

/// The message for the good node with one piece replaced.
std::string changed(const std::string& piece, const std::string& other) {
  return message(with(kGoodNode, piece, other));
}

}  // namespace

TEST_CASE("the good node is good") { CHECK(message(kGoodNode) == "no error"); }

TEST_CASE("quantities: wrong unit, no unit, negative, too large, zero") {
  const std::string place = "n.yaml:14: cpus[0].pci[0].pci[1].speed: ";
  CHECK(changed("400 Gb/s", "50 GBs") ==
        place + "unknown unit \"GBs\"\nhint: did you mean \"GB/s\"?");
  CHECK(changed("400 Gb/s", "400") ==
        place + "400 has no unit\nhint: write a bandwidth with its unit, like 400 Gb/s");
  CHECK(changed("400 Gb/s", "-400 Gb/s") ==
        place + "\"-400 Gb/s\" is negative\nhint: a bandwidth is zero or more");
  CHECK(changed("400 Gb/s", "99999999999 GB/s") == place + "\"99999999999 GB/s\" is too large");
  CHECK(changed("400 Gb/s", "0 Gb/s") == place + "a bandwidth must be more than 0");
}

TEST_CASE("keys: unknown, missing, duplicate, of the wrong type") {
  CHECK(changed("numa: 0", "nmua: 0") ==
        "n.yaml:7: cpus[0]: missing key \"numa\"\nhint: \"nmua\" stands there: did you mean "
        "\"numa\"?");
  CHECK(changed("name: small", "name: small\nnvswitch: 4") ==
        "n.yaml:3: unknown key \"nvswitch\"\nhint: did you mean \"nvswitches\"?");
  CHECK(changed("numa: 0", "numa: 0\n    turbo: 1") ==
        "n.yaml:8: cpus[0]: unknown key \"turbo\"\n"
        "hint: known: cpu, name, numa, affinity, pci");
  CHECK(changed("numa: 0", "numa: 0\n    numa: 1") ==
        "n.yaml:8: duplicate key \"numa\"\nhint: it stands already in line 7");
  CHECK(changed("numa: 0", "numa: zero") ==
        "n.yaml:7: cpus[0].numa: \"zero\" is not a whole number");
  CHECK(changed("numa: 0", "numa: 99999999999999999999") ==
        "n.yaml:7: cpus[0].numa: 99999999999999999999 is too large: at most 65535");
  CHECK(changed("numa: 0", "numa: -2") == "n.yaml:7: cpus[0].numa: -2 is too small: at least -1");
  CHECK(changed("numa: 0", "numa: [0]") ==
        "n.yaml:7: cpus[0].numa: a single value is expected here, not a list");
  CHECK(changed("nvlink: {nvs: 18}", "nvlink: 18") ==
        "n.yaml:13: cpus[0].pci[0].pci[0].nvlink: a mapping (key: value) is expected here, not a "
        "single value");
  CHECK(changed("nvlink: {nvs: 18}", "gdr: maybe") ==
        "n.yaml:13: cpus[0].pci[0].pci[0].gdr: \"maybe\" is neither true nor false");
  CHECK(
      changed("nic: ConnectX-7", "nik: ConnectX-7") ==
      "n.yaml:14: cpus[0].pci[0].pci[1]: this PCI element is neither a switch nor a gpu nor a nic\n"
      "hint: write its part, like {gpu: H100_SXM5, busid: ...}");
  CHECK(changed("kind: node", "kind: nod") ==
        "n.yaml:1: kind: unknown word \"nod\"\nhint: did you mean \"node\"?");
}

TEST_CASE("parts and devices: unknown, duplicate, impossible") {
  CHECK(changed("H100_SXM5", "H100_SXM") ==
        "n.yaml:13: cpus[0].pci[0].pci[0]: unknown GPU part \"H100_SXM\"\n"
        "hint: did you mean \"H100_SXM5\"?");
  CHECK(changed("PEX89144", "PLX") ==
        "n.yaml:10: cpus[0].pci[0]: unknown PCIe switch part \"PLX\"\n"
        "hint: known: ConnectX-8_switch, PEX88000, PEX89144, PEX9797");
  CHECK(changed("name: mlx5_0", "name: gpu0") ==
        "n.yaml:14: cpus[0].pci[0].pci[1]: duplicate name \"gpu0\"\nhint: first used in line 13");
  CHECK(changed("0000:18:00.0", "0000:1b:00.0") ==
        "n.yaml:14: cpus[0].pci[0].pci[1]: duplicate bus id \"0000:1b:00.0\"\n"
        "hint: first used in line 13");
  CHECK(changed("0000:18:00.0", "0000:07:00.0") ==
        "n.yaml:4: nvswitches[0]: duplicate bus id \"0000:07:00.0\"\nhint: first used in line 14");
  CHECK(changed("0000:18:00.0", "18:00.0") ==
        "n.yaml:14: cpus[0].pci[0].pci[1].busid: \"18:00.0\" is not a PCI bus id\n"
        "hint: write it in quotes like \"0000:1b:00.0\"");
  CHECK(changed("name: mlx5_0", "name: mlx5_0, port: 0") ==
        "n.yaml:14: cpus[0].pci[0].pci[1]: NIC \"mlx5_0\" has no port\nhint: ports count from 1");
  CHECK(changed("00000000,00ffffff", "all") ==
        "n.yaml:8: cpus[0].affinity: \"all\" is not a CPU mask\n"
        "hint: write 32-bit words in hex, highest first, like \"00000000,00ffffff\"");
  CHECK(changed("name: mlx5_0", "name: mlx5_0, pcie_width: 3") ==
        "n.yaml:14: cpus[0].pci[0].pci[1]: a PCIe link cannot be 3 lanes wide\n"
        "hint: use 1, 2, 4, 8 or 16");
  CHECK(changed("name: mlx5_0", "name: mlx5_0, pcie_gen: 1") ==
        "n.yaml:14: cpus[0].pci[0].pci[1]: PCIe generation 1 is not in the catalogue");
  CHECK(changed("gpu: H100_SXM5, busid: \"0000:1b:00.0\", nvlink: {nvs: 18}",
                "nic: ConnectX-7, name: a, busid: \"0000:1b:00.0\"") ==
        "n.yaml: the node has no GPU");
  CHECK(message("kind: node\nname: none\n") == "n.yaml: the node has no CPU");
  CHECK(message(std::string(kGoodNode) + "  - {cpu: Intel_8570, numa: 0, affinity: \"f\"}\n") ==
        "n.yaml:15: cpus[1]: duplicate NUMA node 0");
  CHECK(changed("cpus:", "  - {nvswitch: NVSwitch4, busid: \"0000:08:00.0\"}\ncpus:") ==
        "n.yaml:5: nvswitches[1]: NVSwitches of different parts in one node");
  std::string many = kGoodNode;
  for (int i = 0; i < 1'024; ++i) {
    many += "          - {gpu: H100_SXM5, busid: \"" + std::to_string(1'000 + i) + ":01:00.0\"}\n";
  }
  CHECK(message(many) == "n.yaml:1038: cpus[0].pci[0].pci[1025]: more than 1024 GPUs in one node");
}

TEST_CASE("NVLinks: to nobody, to itself, too many, one-sided") {
  const std::string place = "n.yaml:13: cpus[0].pci[0].pci[0].nvlink: ";
  CHECK(changed("{nvs: 18}", "{nvx: 18}") ==
        place + "NVLink to \"nvx\", which does not exist\nhint: did you mean \"nvs\"?");
  CHECK(changed("{nvs: 18}", "{gpu0: 18}") == place + "\"gpu0\" has an NVLink to itself");
  CHECK(changed("{nvs: 18}", "{nvs: 9, \"0000:07:00.0\": 9}") ==
        place + "NVLinks to \"0000:07:00.0\" are named twice");
  CHECK(changed("{nvs: 18}", "{nvs: 19}") == place + "19 NVLinks, but H100_SXM5 has 18");
  CHECK(
      changed("nvlink: {nvs: 18}}",
              "nvlink: {gpu1: 2}}\n          - {gpu: H100_SXM5, busid: \"0000:1c:00.0\"}") ==
      "n.yaml:13: cpus[0].pci[0].pci[0]: \"gpu0\" names 2 NVLinks to \"gpu1\", which names 0 back");
}

TEST_CASE("a PCI tree with a cycle") {
  CHECK(changed("busid: \"0000:1b:00.0\"", "busid: \"0000:16:00.0\"") ==
        "n.yaml:13: cpus[0].pci[0].pci[0]: cycle: \"0000:16:00.0\" hangs under itself");
  // In YAML itself a cycle would be an alias to an enclosing anchor.
  CHECK(changed("      - switch: PEX89144\n        busid: \"0000:16:00.0\"\n        pci:\n",
                "      - &self\n        switch: PEX89144\n        busid: \"0000:16:00.0\"\n"
                "        pci:\n          - *self\n") ==
        "n.yaml:10: anchors and aliases (&name, *name) are not allowed here\n"
        "hint: write the value out");
}

TEST_CASE("devices that hang under no CPU, in a config that did not come from YAML") {
  NodeType node = parse_node_type(kGoodNode, "n.yaml");
  PciConfig gpu;
  gpu.kind = PciConfig::Kind::gpu;
  gpu.part = "H100_SXM5";
  gpu.name = "gpu9";
  gpu.busid = "0000:99:00.0";
  const auto build = [&](const std::string& cpu, bool nvlink) {
    PciConfig root = gpu;
    root.cpu = cpu;
    if (nvlink) root.nvlinks.push_back({"nvs", 18});
    NodeType wrong = node;
    wrong.pci.push_back(root);
    return error_text([&] { NodeGraph::build(wrong, load_catalogue()); });
  };
  CHECK(build("", false) ==
        "GPU \"gpu9\" is connected to nothing\nhint: hang it under a CPU or a PCIe switch");
  CHECK(build("", true) == "\"gpu9\" hangs under no CPU");
  CHECK(build("cpu7", true) == "unknown CPU \"cpu7\"\nhint: did you mean \"cpu0\"?");
}

TEST_CASE("text that is no YAML mapping") {
  CHECK(message("") == "n.yaml: the file is empty");
  CHECK(message("# only a comment\n\n") == "n.yaml: the file is empty");
  CHECK(
      message(std::string("kind: node\n\0\x01", 13)) ==
      "n.yaml:2: byte 0x00 does not belong in a text file\nhint: a YAML file in UTF-8 is expected");
  CHECK(
      message("kind: node\nname: \xff\xfe\n") ==
      "n.yaml:2: byte 0xff does not belong in a text file\nhint: a YAML file in UTF-8 is expected");
  CHECK(message("just words\n") ==
        "n.yaml:1: a mapping (key: value) is expected here, not a single value");
  CHECK(message("<system version=\"1\">\n</system>\n") ==
        "n.yaml:1: this is XML\nhint: a YAML file is expected");
  CHECK(message("- a\n- b\n") == "n.yaml:1: a mapping (key: value) is expected here, not a list");
  CHECK(message("kind: [node\n") == "n.yaml:2: not valid YAML: end of sequence flow not found");
  CHECK(message("kind: node\n---\nkind: node\n") ==
        "n.yaml: more than one YAML document\nhint: write one document per file");
  CHECK(message("kind: !secret node\n") ==
        "n.yaml:1: the tag \"!secret\" is not allowed here\nhint: write the value alone");
  CHECK(message("? [a, b]\n: c\n") == "n.yaml:1: a key must be a word, not a list or a mapping");
  CHECK(message(std::string((16u << 20) + 1, ' ')) == "n.yaml: larger than 16 MiB");
  CHECK(message("kind: " + std::string(1u << 20, 'x')) ==
        "n.yaml:1: the line is longer than 1 MiB");
  std::string keys = "kind: node\n";
  for (int i = 0; i < 10'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  CHECK(message(keys) == "n.yaml:10001: more than 10000 keys");
}

TEST_CASE("a file of too many values" * minutes_under_sanitizers()) {
  std::string values = "kind: [";
  for (int i = 0; i < 1'000'001; ++i) values += "\n 1,";
  CHECK(message(values + "]\n") == "n.yaml:999999: more than 1000000 values");
}

TEST_CASE("5,000 levels deep") {
  const std::string too_deep = "nested deeper than 64 levels";
  const std::string open(5'000, '[');
  CHECK(message("kind: " + open) == "n.yaml:1: " + too_deep);
  CHECK(message("kind: " + open + std::string(5'000, ']')) == "n.yaml:1: " + too_deep);
  std::string flow_maps, block_maps, block_lists;
  for (int i = 0; i < 5'000; ++i) {
    flow_maps += "{a: ";
    block_maps += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    block_lists += "- ";
  }
  CHECK(message("kind: " + flow_maps) == "n.yaml:1: " + too_deep);
  CHECK(message(block_maps) == "n.yaml:65: " + too_deep);
  CHECK(message(block_lists) == "n.yaml:1: " + too_deep);
}

TEST_CASE("figures without a source") {
  const std::string good = R"(kind: parts
sources: {maker: {what: "datasheet", url: "https://example.org"}, us: {what: "our guess"}}
nvswitches:
  N: {latency: {value: 120 ns, source: maker, status: derived}}
)";
  const auto parts = [&](const std::string& figure) {
    const std::string text = with(good, "{value: 120 ns, source: maker, status: derived}", figure);
    return error_text([&] { parse_parts(text, "p.yaml"); });
  };
  const std::string place = "p.yaml:4: nvswitches.N.latency";
  const std::string hint =
      "\nhint: write {value: ..., source: KEY, status: ...} with a key of \"sources\"";
  CHECK(parts("120 ns") == place + ": a figure needs its source" + hint);
  CHECK(parts("{value: 120 ns, status: derived}") == place + ": a figure needs its source" + hint);
  CHECK(parts("{value: 120 ns, source: makr, status: derived}") ==
        place + ".source: unknown source \"makr\"\nhint: did you mean \"maker\"?");
  CHECK(parts("{value: 120 ns, source: maker, status: guessed}") ==
        place +
            ".status: unknown word \"guessed\"\n"
            "hint: known: datasheet, nccl-source, measured, fitted, derived, assumed");
  CHECK(parts("{value: 120 ns, source: maker}") == place + ": missing key \"status\"");
  CHECK(parts("{source: maker, status: derived}") == place + ": missing key \"value\"");
  CHECK(parts("{value: 120 ns, source: us, status: measured}") ==
        place + ".source: the source \"us\" has no url: it can only back what is assumed");
  CHECK(parts("{value: 120, source: us, status: assumed}") ==
        place + ".value: 120 has no unit\nhint: write a time with its unit, like 120 ns");
  CHECK(parts("{value: 120 ns, source: us, status: assumed, remark: x}") ==
        place + ": unknown key \"remark\"\nhint: known: value, source, status, note");
}

TEST_CASE("clusters: what is asked for does not exist or does not fit") {
  const PartsCatalogue parts = load_catalogue();
  const auto load = [&](const TopologyRequest& request) {
    return error_text([&] { load_cluster(request, parts); });
  };
  CHECK(load({"dgx-h10", 1, ""}) ==
        "unknown topology \"dgx-h10\"\nhint: did you mean \"dgx-h100\"?");
  CHECK(load({"torus", 1, ""}) ==
        "unknown topology \"torus\"\nhint: fabricast list topologies names those that are known");
  CHECK(load({"dgx-sparks", 1, ""}) ==
        "unknown topology \"dgx-sparks\"\nhint: did you mean \"dgx-spark\"?");
  CHECK(
      load({"dgx-spark-2", 1, ""}) ==
      "unknown topology \"dgx-spark-2\"\nhint: did you mean \"dgx-spark\" or \"dgx-spark-pair\"?");
  // As clouds and makers call them.
  for (const auto& [typed, meant] :
       std::vector<std::pair<std::string, std::string>>{{"p5.48xlarge", "p5"},
                                                        {"ND96isr_H100_v5", "nd-h100-v5"},
                                                        {"a3-megagpu-8g", "a3-mega"},
                                                        {"BM.GPU.H100.8", "oci-h100"},
                                                        {"g7e.48xlarge", "g7e"}}) {
    CHECK(load({typed, 1, ""}) ==
          "unknown topology \"" + typed + "\"\nhint: did you mean \"" + meant + "\"?");
  }
  CHECK(load({"./nowhere.yaml", 1, ""}) == "./nowhere.yaml: no such file");
  CHECK(load({"nowhere.yaml", 1, ""}) == "nowhere.yaml: no such file");
  CHECK(load({"/tmp", 1, ""}) == "/tmp: is a directory");
  CHECK(load({"dgx-h100", 1, "fabric-ndr-rial"}) ==
        "unknown fabric \"fabric-ndr-rial\"\nhint: did you mean \"fabric-ndr-rail\"?");
  CHECK(load({"dgx-h100", -1, ""}) == "a cluster of -1 nodes: at least 1 is needed");
  CHECK(load({"fabric-ndr-rail", 1, ""}) ==
        "topologies/fabric-ndr-rail.yaml:7: kind: unknown word \"fabric\"\nhint: known: node, "
        "cluster");

  const auto cluster = [&](const std::string& text) {
    return error_text([&] { parse_cluster(text, "c.yaml", {}, parts); });
  };
  const std::string head = "kind: cluster\nname: c\n";
  CHECK(cluster(head + "node: dgx-h100\nnodes: 0\n") ==
        "c.yaml:4: nodes: 0 is too small: at least 1");
  CHECK(cluster(head + "node: dgx-h100\nnodes: 2000000000\n") ==
        "c.yaml:4: nodes: 2000000000 is too large: at most 1000000000");
  CHECK(cluster(head + "node: dgx-h20\nnodes: 2\n") ==
        "c.yaml:3: node: unknown node type \"dgx-h20\"\nhint: did you mean \"dgx-h200\"?");
  CHECK(cluster(head + "node: dgx-h100\nnodes: 2\nfabric: {shape: torus}\n") ==
        "c.yaml:5: fabric.shape: unknown word \"torus\"\nhint: known: rail_optimised, fat_tree, "
        "dragonfly");
}
