// What a preset shows of itself leads back to it: its matrix of nvidia-smi topo -m, its XML.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/io/nccl_xml/nccl_xml.hpp"
#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/import_topology.hpp"
#include "models/io/topologies/matrix_node.hpp"
#include "models/io/topologies/nearest_node.hpp"
#include "models/io/topologies/tool_node.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/nccl/communicator/nccl_communicator.hpp"
#include "models/studies/decide/decide.hpp"
#include "tests/invariants/cases.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast::testing {
namespace {

NodeChanges with_gpu(const std::string& gpu) {
  NodeChanges out;
  out.gpu = gpu;
  return out;
}

/// Choices of all collectives on so many nodes, as text that two nodes can be compared by.
std::string decisions(const NodeGraph& node, int nodes) {
  std::string out;
  for (const NcclVersion version : kModelledVersions) {
    NcclCommunicatorConfig config;
    config.version = version;
    config.nodes = nodes;
    const NcclCommunicator made = make_nccl_communicator(describe(node), config);
    for (const Collective collective : kAllCollectives) {
      if (!is_tuned(collective)) continue;
      for (int power = 10; power <= 32; power += 2) {
        const auto row = decide_row(made, collective, Bytes{std::int64_t{1} << power});
        if (!row) continue;
        out += fmt::format("{} {} {} {}: ", to_text(version), nodes, to_text(collective), power);
        out += row->decision.algorithm
                   ? fmt::format("{} {} {}\n", to_text(*row->decision.algorithm),
                                 to_text(row->decision.protocol), row->channels)
                   : "refused\n";
      }
    }
  }
  return out;
}

NodeGraph graph_of(const NodeType& type) { return NodeGraph::build(type, shipped_parts()); }

TEST_CASE("every preset's matrix becomes a node that shows the same matrix and decides like it") {
  for (const std::string& name : node_preset_names()) {
    CAPTURE(name);
    const NodeGraph preset = graph_of(load_node_type(name));
    const std::string matrix = topo_matrix(preset);
    const ToolNode made =
        node_from_tool(matrix, name + ".txt", with_gpu(gpu_part(preset)), shipped_parts());
    const NodeGraph node = graph_of(made.node);
    CHECK(made.kind == "nvidia-smi topo -m");
    CHECK(topo_matrix(node).substr(0, matrix.find("Legend")) ==
          matrix.substr(0, matrix.find("Legend")));
    for (const int nodes : {1, 2, 5}) CHECK(decisions(node, nodes) == decisions(preset, nodes));
  }
}

TEST_CASE("every preset's XML becomes a node that decides like it") {
  for (const std::string& name : node_preset_names()) {
    CAPTURE(name);
    const NodeGraph preset = graph_of(load_node_type(name));
    const ImportedNode made =
        import_topology(to_nccl_xml(describe(preset)), name + ".xml", {}, shipped_parts());
    CHECK(made.summary.find("nearest: ") != std::string::npos);
    const NodeGraph node = graph_of(parse_node_type(made.yaml, name + ".yaml"));
    for (const int nodes : {1, 2, 5}) CHECK(decisions(node, nodes) == decisions(preset, nodes));
  }
}

TEST_CASE("a matrix that fits several GPUs asks which one it is") {
  const std::string matrix = topo_matrix(graph_of(load_node_type("dgx-h100")));
  const std::string said =
      error_text([&] { node_from_tool(matrix, "m.txt", {}, shipped_parts()); });
  CHECK(said.find("the matrix does not say which GPU this is") != std::string::npos);
  CHECK(said.find("H100_SXM5") != std::string::npos);
  const ToolNode named = node_from_tool("NVIDIA H200\n" + matrix, "m.txt", {}, shipped_parts());
  CHECK(gpu_part(graph_of(named.node)) == "H200_SXM");
}

TEST_CASE("a matrix with random PCI trees is rebuilt cell by cell") {
  Dice random(15);
  int cases = 0;
  for (int i = 0; i < random_cases(200); ++i) {
    // GPUs and NICs in random trees of two levels of switches under one to four CPUs.
    NodeType node = load_node_type("pcie-2gpu");
    const CpuConfig cpu = node.cpus.front();
    const PciConfig gpu = [&] {
      PciConfig out;
      out.kind = PciConfig::Kind::gpu;
      out.part = "L40S";
      return out;
    }();
    node.cpus.clear();
    node.pci.clear();
    node.nvswitches.clear();
    int bus = 0, gpus = 0, nics = 0;
    const auto next = [&] { return fmt::format("0000:{:02x}:00.0", ++bus); };
    const auto device = [&](bool is_gpu) {
      PciConfig out = gpu;
      out.busid = next();
      if (is_gpu) {
        out.name = fmt::format("gpu{}", gpus++);
        return out;
      }
      out.kind = PciConfig::Kind::nic;
      out.part = "ConnectX-7";
      out.name = fmt::format("mlx5_{}", nics++);
      return out;
    };
    const auto cpus = static_cast<int>(random.pick(1, 4));
    for (int c = 0; c < cpus; ++c) {
      CpuConfig one = cpu;
      one.name = fmt::format("cpu{}", c);
      one.numa = c;
      node.cpus.push_back(one);
      const auto roots = static_cast<int>(random.pick(1, 2));
      for (int r = 0; r < roots; ++r) {
        PciConfig root;
        root.kind = PciConfig::Kind::pcie_switch;
        root.part = "PEX89144";
        root.busid = next();
        // Each GPU has a NIC on its switches, so that none of them is taken for a front end.
        const auto pairs = static_cast<int>(random.pick(1, 2));
        const bool two_levels = random.pick(0, 1) == 1;
        for (int p = 0; p < pairs; ++p) {
          PciConfig below = root;
          below.children.clear();
          below.busid = next();
          std::vector<PciConfig>& into = two_levels ? below.children : root.children;
          into.push_back(device(true));
          into.push_back(device(false));
          if (two_levels) root.children.push_back(std::move(below));
        }
        root.cpu = one.name;
        node.pci.push_back(std::move(root));
      }
    }
    const NodeGraph drawn = graph_of(node);
    const std::string matrix = topo_matrix(drawn);
    CAPTURE(matrix);
    const ToolNode made = node_from_tool(matrix, "m.txt", with_gpu("L40S"), shipped_parts());
    CHECK(topo_matrix(graph_of(made.node)) == matrix);
    ++cases;
  }
  MESSAGE(cases << " trees");
}

}  // namespace
}  // namespace fabricast::testing
