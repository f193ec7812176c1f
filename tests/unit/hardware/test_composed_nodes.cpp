// Goal: nodes composed of counts are the machines that presets draw: paths, choices and times.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/hardware/node/compose_node.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/simulation.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

NodeGraph composed(const NodeShape& shape) {
  return NodeGraph::build(compose_node(shape, parts()), parts());
}

NodeGraph shipped_node(const std::string& name) {
  return NodeGraph::build(load_node_type(name), parts());
}

/// Path types between all GPUs and NICs, by their number.
std::vector<SmiPath> paths(const NodeGraph& node) {
  std::vector<VertexId> devices;
  for (const GpuInfo& gpu : node.gpus()) devices.push_back(gpu.vertex);
  for (const NicInfo& nic : node.nics()) devices.push_back(nic.vertex);
  std::vector<SmiPath> out;
  for (const VertexId from : devices) {
    for (const VertexId to : devices) out.push_back(node.smi_path(from, to));
  }
  return out;
}

/// What NCCL chooses and how long it takes: all_reduce and alltoall of several sizes.
std::vector<std::string> outcomes(const NodeGraph& node, int nodes) {
  const Cluster cluster(node, nodes, default_fabric(node, parts()));
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  const Communicator communicator = make_communicator(cluster, config);
  std::vector<std::string> out;
  for (const Collective collective : {Collective::all_reduce, Collective::alltoall}) {
    for (const std::int64_t count : {256, 65'536, 1 << 22}) {
      const DecidedCall call = decide_call(communicator, {collective, count, 4, 0});
      const SimulationResult done = simulate(cluster, parts().software, call.run);
      out.push_back(std::string(to_text(call.run.algorithm)) + " " +
                    std::string(to_text(call.run.protocol)) + " " +
                    std::to_string(call.run.channels) + " " + std::to_string(done.time.ps));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("composed nodes have the paths of the presets, and give the same calls and times") {
  const auto rate = [](std::int64_t gbps) { return Bandwidth{gbps * 125'000'000}; };
  const auto check = [](const NodeShape& shape, const std::string& name) {
    INFO(name);
    const NodeGraph made = composed(shape), drawn = shipped_node(name);
    CHECK(paths(made) == paths(drawn));
    for (std::size_t gpu = 0; gpu < drawn.gpus().size(); ++gpu)
      CHECK(made.gpus()[gpu].nvswitch_links == drawn.gpus()[gpu].nvswitch_links);
    for (const int nodes : {1, 2}) CHECK(outcomes(made, nodes) == outcomes(drawn, nodes));
  };
  check({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 8, {}}, "dgx-h100");
  check({"H100_NVL", NodeKind::nvlink_pairs, 4, "ConnectX-7", 2, {}}, "h100-pcie-nvl-4");
  check({"L40S", NodeKind::pcie, 8, "ConnectX-7", 2, rate(200)}, "pcie-8");
  check({"GH200", NodeKind::nvlink_mesh, 4, "Cassini", 4, {}}, "gh200-4");
  check({"GB200", NodeKind::nvl72, 4, "ConnectX-7", 4, {}}, "gb200-nvl72");
  if (kSanitized) return;  // of the first one's kind
  check({"B200_SXM", NodeKind::nvswitch, 8, "ConnectX-7", 8, {}}, "hgx-b200");
  check({"A100_SXM4_80", NodeKind::nvswitch, 8, "ConnectX-6", 8, {}}, "dgx-a100");
}

TEST_CASE("composed nodes: links of a mesh, NICs spread evenly, a file that reads back") {
  const NodeGraph mesh = composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "Cassini", 2, {}});
  for (const GpuInfo& from : mesh.gpus()) {
    for (const GpuInfo& to : mesh.gpus())
      CHECK(mesh.nvlinks_between(from.vertex, to.vertex) == (from.vertex == to.vertex ? 0 : 4));
  }
  // One NIC for every two GPUs stands beside the first of them.
  const NodeGraph half = composed({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 4, {}});
  REQUIRE(half.nics().size() == 4);
  for (std::size_t nic = 0; nic < 4; ++nic) {
    const VertexId at = half.nics()[nic].vertex;
    CHECK(half.smi_path(half.gpus()[2 * nic].vertex, at) == SmiPath::pix);
    CHECK(half.smi_path(half.gpus()[2 * nic + 1].vertex, at) != SmiPath::pix);
  }
  const NodeGraph four = composed({"H100_SXM5", NodeKind::nvswitch, 8, "EFA_v2", 32, {}});
  for (std::size_t nic = 0; nic < 32; ++nic) {
    CHECK(four.smi_path(four.gpus()[nic / 4].vertex, four.nics()[nic].vertex) == SmiPath::pix);
  }
  // Two ports of a card: functions of one bus id, with one GUID.
  const Bandwidth half_rate{200 * std::int64_t{125'000'000}};
  const NodeGraph cards =
      composed({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 16, half_rate, {}, 2});
  REQUIRE(cards.nics().size() == 16);
  for (std::size_t nic = 0; nic < 16; nic += 2) {
    const NicInfo &one = cards.nics()[nic], &two = cards.nics()[nic + 1];
    CHECK(one.guid == two.guid);
    CHECK(one.port == 1);
    CHECK(two.port == 2);
    const std::string a = cards.vertex(one.vertex).busid, b = cards.vertex(two.vertex).busid;
    CHECK(a.substr(0, a.size() - 1) == b.substr(0, b.size() - 1));
    CHECK(a.back() == '0');
    CHECK(b.back() == '1');
    CHECK(cards.smi_path(cards.gpus()[nic / 2].vertex, two.vertex) == SmiPath::pix);
    if (nic > 0) CHECK(one.guid != cards.nics()[nic - 1].guid);
  }
  const std::string text = topo_yaml(half, parts());
  CHECK(paths(NodeGraph::build(parse_node_type(text, "x.yaml"), parts())) == paths(half));
}

TEST_CASE("composed nodes: GeForce cards with a bridge reach each other over it alone") {
  // Two pairs of RTX 3090 on two sockets: NVLink within a pair, host memory between the pairs.
  const Cluster cluster(composed({"RTX_3090", NodeKind::nvlink_pairs, 4, "", 0, {}}), 1, {});
  CHECK(!cluster.node().peer_to_peer());
  const auto time_of = [&](int gpus, const char* level) {
    CommunicatorConfig config;
    config.version = kNccl2_21_5;
    config.gpus_per_node = gpus;
    if (level != nullptr) config.environment.set("NCCL_P2P_LEVEL", level);
    const Communicator communicator = make_communicator(cluster, config);
    const DecidedCall call = decide_call(communicator, {Collective::all_reduce, 16 << 20, 4, 0});
    return simulate(cluster, parts().software, call.run, {}).time.ps;
  };
  // 2(n-1)/n x 64 MiB at 45 GB/s over the bridge; a GPU's 26 GB/s at most beside it.
  CHECK(time_of(2, nullptr) < 3 * time_of(2, "LOC") / 4);
  CHECK(time_of(2, nullptr) == time_of(2, "NVL"));
  CHECK(time_of(4, nullptr) == time_of(4, "NVL"));
  CHECK(time_of(4, nullptr) == time_of(4, "SYS"));  // which the driver does not let
}

TEST_CASE(
    "composed nodes: GeForce cards stand on root ports, and reach each other if the driver lets "
    "them") {
  const NodeShape cards{"RTX_5090", NodeKind::pcie, 8, "", 0, {}};
  const NodeGraph box = composed(cards), server = composed({"L40S", NodeKind::pcie, 8, "", 0, {}});
  CHECK(box.smi_path(box.gpus()[0].vertex, box.gpus()[1].vertex) > SmiPath::pxb);
  CHECK(server.smi_path(server.gpus()[0].vertex, server.gpus()[1].vertex) == SmiPath::pix);
  CHECK(!box.peer_to_peer());
  NodeShape patched = cards;
  patched.peer_to_peer = true;
  const NodeGraph free = composed(patched);
  CHECK(free.peer_to_peer());
  CHECK(to_text(patched) == "8 x RTX_5090 pcie with P2P");
  const NodeGraph again =
      NodeGraph::build(parse_node_type(topo_yaml(free, parts()), "x.yaml"), parts());
  CHECK(again.peer_to_peer());
  // Its own cost of a primitive is that of PCIe and host memory, of a GPU with NVLink that of
  // NVLink.
  const auto overhead = [](const char* gpu, HopKind hop) {
    return parts()
        .software.costs(Protocol::simple, parts().gpus.at(gpu))
        .overhead[static_cast<std::size_t>(hop)];
  };
  CHECK(overhead("RTX_5090", HopKind::pcie) == overhead("RTX_5090", HopKind::shm));
  CHECK(overhead("RTX_5090", HopKind::pcie) < overhead("RTX_4090", HopKind::pcie));
  CHECK(overhead("RTX_PRO_6000", HopKind::pcie) == overhead("RTX_5090", HopKind::pcie));
  CHECK(overhead("H100_SXM5", HopKind::pcie) == overhead("RTX_4090", HopKind::pcie));
  CHECK(overhead("RTX_5090", HopKind::nvlink) == overhead("RTX_4090", HopKind::nvlink));
}

TEST_CASE("composed nodes: a mesh of A100 has a GPU on each NUMA node, and every second a NIC") {
  const NodeGraph node = composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "Cassini", 2, {}});
  CHECK(node.cpus().size() == 4);
  for (int gpu = 0; gpu < 4; ++gpu) {
    for (int nic = 0; nic < 2; ++nic) {
      const SmiPath path = node.smi_path(node.gpus()[static_cast<std::size_t>(gpu)].vertex,
                                         node.nics()[static_cast<std::size_t>(nic)].vertex);
      CHECK((path == SmiPath::sys) == (gpu != 2 * nic + 1));  // as the Polaris page has it
    }
  }
}

TEST_CASE("composed nodes: a mesh whose GPUs have a NIC each, beside them or on root ports") {
  const auto beside = [](const NodeGraph& node) {
    int out = 0;
    for (std::size_t i = 0; i < node.gpus().size(); ++i)
      out += node.smi_path(node.gpus()[i].vertex, node.nics()[i].vertex) == SmiPath::pix;
    return out;
  };
  // Snellius: two sockets, GPUs 0 and 1 of the first, GPUDirect RDMA by default.
  const NodeGraph h100 = composed({"H100_SXM5", NodeKind::nvlink_mesh, 4, "ConnectX-6", 4, {}});
  CHECK(h100.cpus().size() == 2);
  CHECK(beside(h100) == 4);
  CHECK(beside(composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "ConnectX-6", 4, {}})) == 4);
  CHECK(beside(composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "Cassini", 4, {}})) == 0);
}

TEST_CASE("composed nodes: a mesh that has a NIC for two GPUs, beside both of them") {
  // Deucalion, four A100 and two InfiniBand NICs: PXB to GPUs 0 and 1, and to GPUs 2 and 3.
  for (const char* gpu : {"A100_SXM4_80", "H100_SXM5"}) {
    const NodeGraph node = composed({gpu, NodeKind::nvlink_mesh, 4, "ConnectX-6", 2, {}});
    for (int at = 0; at < 4; ++at) {
      for (int nic = 0; nic < 2; ++nic) {
        const SmiPath path = node.smi_path(node.gpus()[static_cast<std::size_t>(at)].vertex,
                                           node.nics()[static_cast<std::size_t>(nic)].vertex);
        CHECK((path == SmiPath::pix) == (at / 2 == nic));
      }
    }
  }
  // One NIC for all four, and Slingshot, stand on root ports.
  for (const auto& [nic, nics] : {std::pair{"ConnectX-6", 1}, std::pair{"Cassini", 2}}) {
    const NodeGraph node = composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, nic, nics, {}});
    for (const GpuInfo& at : node.gpus())
      CHECK(node.smi_path(at.vertex, node.nics()[0].vertex) >= SmiPath::phb);
  }
}

TEST_CASE("composed nodes: the cube mesh of DGX-1, all NVLinks of V100 and of P100") {
  for (const auto& [gpu, links] : {std::pair{"V100_SXM2_32", 6}, std::pair{"P100_SXM2", 4}}) {
    const NodeGraph node = composed({gpu, NodeKind::nvlink_cube_mesh, 8, "ConnectX-5", 4, {}});
    for (std::size_t from = 0; from < 8; ++from) {
      int all = 0, joined = 0;
      for (std::size_t to = 0; to < 8; ++to) {
        const VertexId a = node.gpus()[from].vertex, b = node.gpus()[to].vertex;
        const int one = from == to ? 0 : node.nvlinks_between(a, b);
        CHECK(one == (from == to ? 0 : node.nvlinks_between(b, a)));
        // Three of the own four, and the twin in the other four.
        CHECK((one > 0) == (from != to && (from / 4 == to / 4 || from % 4 == to % 4)));
        all += one;
        joined += one > 0 ? 1 : 0;
      }
      CHECK(all == links);
      CHECK(joined == 4);
    }
    // A NIC for every two GPUs, on their PCIe switch.
    for (std::size_t gpu_at = 0; gpu_at < 8; ++gpu_at)
      for (std::size_t nic = 0; nic < 4; ++nic)
        CHECK((node.smi_path(node.gpus()[gpu_at].vertex, node.nics()[nic].vertex) ==
               SmiPath::pix) == (nic == gpu_at / 2));
  }
}

TEST_CASE("composed nodes: what no such server has") {
  const auto error = [](const NodeShape& shape) {
    return error_text([&] { compose_node(shape, parts()); });
  };
  CHECK(error({"L40S", NodeKind::nvswitch, 8, {}, 0, {}}) ==
        "8 x L40S nvswitch: this GPU is on no NVSwitches");
  CHECK(error({"V100_SXM2_32", NodeKind::nvlink_mesh, 8, {}, 0, {}}) ==
        "8 x V100_SXM2_32 nvlink-mesh: 6 NVLinks do not reach 7 other GPUs");
  CHECK(error({"V100_SXM2_32", NodeKind::nvlink_cube_mesh, 4, {}, 0, {}}) ==
        "4 x V100_SXM2_32 nvlink-cube-mesh: it has 8 GPUs");
  CHECK(error({"L40S", NodeKind::nvlink_cube_mesh, 8, {}, 0, {}}) ==
        "8 x L40S nvlink-cube-mesh: 0 NVLinks, but a cube mesh takes 4");
  CHECK(error({"A40", NodeKind::nvlink_pairs, 3, {}, 0, {}}) ==
        "3 x A40 nvlink-pairs: cards in pairs are even in number");
  CHECK(error({"L40S", NodeKind::nvlink_pairs, 2, {}, 0, {}}) ==
        "2 x L40S nvlink-pairs: this GPU takes no NVLink bridge");
  CHECK(error({"H100_SXM5", NodeKind::single, 2, {}, 0, {}}) ==
        "2 x H100_SXM5 single: it is one GPU");
  CHECK(error({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 12, {}, {}, 2}) ==
        "8 x H100_SXM5 nvswitch, 12 x ConnectX-7, 2 ports a card: cards of 2 ports: as many for "
        "every GPU");
  CHECK(error({"X1", NodeKind::pcie, 2, {}, 0, {}}) ==
        "no server with X1 is known here\nhint: write its topology as YAML (docs/topologies.md)");
}
