// Goal: NCCL takes the NICs for one that its release and environment say, and every message goes
// over all of them.
// Method: one node with two two-port cards and one single-port card, the groups as a table by
// release and variables; errors verbatim; pieces of messages, and a chain of one slice against the
// closed form; bandwidth of one channel, fused and not, bytes on each port.

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/node/network.hpp"
#include "sim/links/machine.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/environment_of.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

// Both cards of the first switch, the third at another one of the same CPU.
constexpr const char* kNode = R"(
kind: node
name: ports
cpus:
  - cpu: Intel_8480C
    numa: 0
    affinity: "ff"
    pci:
      - switch: PEX89144
        busid: "0000:16:00.0"
        pci:
          - {nic: ConnectX-6, name: mlx5_0, busid: "0000:18:00.0", guid: "0x10"}
          - {nic: ConnectX-6, name: mlx5_1, busid: "0000:18:00.1", guid: "0x10"}
          - {nic: ConnectX-6, name: mlx5_2, busid: "0000:19:00.0", guid: "0x20"}
          - {nic: ConnectX-6, name: mlx5_3, busid: "0000:19:00.1", guid: "0x20"}
          - {gpu: H100_PCIE, busid: "0000:1b:00.0"}
      - switch: PEX89144
        busid: "0000:3e:00.0"
        pci:
          - {nic: ConnectX-6, name: mlx5_4, busid: "0000:40:00.0", guid: "0x30"}
)";

NodeGraph node() {
  return NodeGraph::build(parse_node_type(kNode, "ports.yaml"), load_catalogue());
}

NetworkChoice choose(NcclVersion version, const std::vector<const char*>& assignments,
                     std::vector<std::string>& warnings) {
  return choose_network(describe(node()), environment_of(assignments), version, {}, 2, warnings);
}

/// "mlx5_0+mlx5_1:400 mlx5_4:200", as NCCL numbers them.
std::string nets(const NetworkChoice& choice) {
  std::string out;
  for (const NodeDescription::Net& net : nets_of(choice.node))
    out += (out.empty() ? "" : " ") + net.name + ":" + std::to_string(net.speed_mbps / 1000);
  return out;
}

}  // namespace

TEST_CASE("fused NICs: by release and environment") {
  constexpr NcclVersion before{23, 4}, since{24, 3};
  const std::string apart = "mlx5_0:200 mlx5_1:200 mlx5_2:200 mlx5_3:200 mlx5_4:200";
  const std::string ports = "mlx5_0+mlx5_1:400 mlx5_2+mlx5_3:400 mlx5_4:200";
  const struct {
    NcclVersion version;
    std::vector<const char*> assignments;
    std::string expected;
  } cases[] = {
      {kNccl2_21_5, {}, ports},
      {before, {}, ports},
      {since, {}, ports},
      {kNccl2_30_7, {}, ports},
      {kNccl2_21_5, {"NCCL_IB_MERGE_NICS=0"}, apart},
      {kNccl2_30_7, {"NCCL_IB_MERGE_NICS=0"}, apart},
      {before, {"NCCL_NET_MERGE_LEVEL=LOC"}, ports},
      {since, {"NCCL_NET_MERGE_LEVEL=LOC"}, apart},
      {since, {"NCCL_NET_MERGE_LEVEL=PIX"}, "mlx5_0+mlx5_1+mlx5_2+mlx5_3:800 mlx5_4:200"},
      // Four at most.
      {since, {"NCCL_NET_MERGE_LEVEL=PHB"}, "mlx5_0+mlx5_1+mlx5_2+mlx5_3:800 mlx5_4:200"},
      {since,
       {"NCCL_NET_MERGE_LEVEL=PHB", "NCCL_IB_HCA=mlx5_0,mlx5_4"},
       "mlx5_1:200 mlx5_2:200 mlx5_3:200 mlx5_0+mlx5_4:400"},
      {since,
       {"NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_2"},
       "mlx5_1:200 mlx5_3:200 mlx5_0+mlx5_2:400 mlx5_4:200"},
      {since,
       {"NCCL_NET_FORCE_MERGE=mlx5_1;mlx5_3,mlx5_4", "NCCL_NET_MERGE_LEVEL=LOC"},
       "mlx5_0:200 mlx5_1:200 mlx5_2:200 mlx5_3+mlx5_4:400"},
  };
  for (const auto& [version, assignments, expected] : cases) {
    const std::string release = to_text(version);
    CAPTURE(release);
    std::vector<std::string> warnings;
    Environment environment = environment_of(assignments);
    const auto hca = environment.get("NCCL_IB_HCA");
    const NetworkChoice got = choose_network(describe(node()), environment, version,
                                             hca ? IbHcaFilter(*hca) : IbHcaFilter(), 2, warnings);
    CHECK(nets(got) == expected);
    for (const int dev : got.nics) {
      const auto members = got.settings.members(dev);
      CHECK(members.front() == dev);
    }
  }
}

TEST_CASE("fused NICs: nonsense") {
  std::vector<std::string> warnings;
  const auto text = [&](std::vector<const char*> assignments) {
    return error_text([&] { choose(kNccl2_27_7, assignments, warnings); });
  };
  CHECK(text({"NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_9"}) ==
        "NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_9: \"mlx5_0,mlx5_9\" names 2 NICs, 1 of which is there\n"
        "hint: NCCL refuses it; ports has: mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_4");
  CHECK(text({"NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4"})
            .find("names 5 NICs, 4 at most become one") != std::string::npos);
  CHECK(text({"NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_1;mlx5_1,mlx5_2"}).find("mlx5_1 is named twice") !=
        std::string::npos);
  CHECK(text({"NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_1", "NCCL_IB_MERGE_NICS=0"})
            .find("NCCL_IB_MERGE_NICS=0 forbids that") != std::string::npos);
  warnings.clear();
  const NetworkChoice got = choose(kNccl2_27_7, {"NCCL_NET_MERGE_LEVEL=near"}, warnings);
  CHECK(got.settings.fused.empty());
  CHECK(warnings == std::vector<std::string>{
                        "NCCL_NET_MERGE_LEVEL=near: no level that NCCL knows; it takes LOC, so "
                        "that nothing is fused"});
  warnings.clear();
  choose(kNccl2_21_5, {}, warnings);
  CHECK(warnings == std::vector<std::string>{"NCCL takes NICs for one: mlx5_0+mlx5_1, 400 Gb/s",
                                             "NCCL takes NICs for one: mlx5_2+mlx5_3, 400 Gb/s"});
}

TEST_CASE("fused NICs: pieces of a message, ways side by side") {
  // 1000 bytes in three: 334, rounded up to 384.
  CHECK(piece_of(7, Bytes{1000}) == Bytes{1000});
  CHECK(piece_of(7 | piece_mark(0, 3), Bytes{1000}) == Bytes{384});
  CHECK(piece_of(7 | piece_mark(1, 3), Bytes{1000}) == Bytes{384});
  CHECK(piece_of(7 | piece_mark(2, 3), Bytes{1000}) == Bytes{232});
  CHECK(piece_of(7 | piece_mark(1, 4), Bytes{100}) == Bytes{0});
  CHECK((piece_mark(3, 4) & kLinkBits) == 0);
  // The first and last link are shared; one way has a link more.
  const std::vector<std::uint32_t> path = side_by_side({{1, 2, 3, 9}, {1, 4, 9}});
  CHECK(path == std::vector<std::uint32_t>{1, 2 | piece_mark(0, 2), 4 | piece_mark(1, 2) | kBeside,
                                           3 | piece_mark(0, 2), 9});
  CHECK(side_by_side({{1, 2}}) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("fused NICs: a slice crosses all ports at once") {
  const PartsCatalogue parts = bare_parts();
  const NodeGraph graph = NodeGraph::build(parse_node_type(kNode, "ports.yaml"), parts);
  const Cluster cluster(graph, 2, default_fabric(graph, parts));
  CollectiveRun run = ring_call(Collective::broadcast, Protocol::simple, 1, 1024);
  run.version = kNccl2_27_7;
  run.buffers.simple = Bytes{32'768};
  const auto time = [&] { return simulate(cluster, parts.software, run).time; };
  const Duration alone = time();
  run.transport.network.fused = {{0, 1}};
  const Duration two = time();
  run.transport.network.fused = {{0, 1, 2, 3}};
  const Duration four = time();
  // Ports at 0.96 of 200 Gb/s are the narrow place of one and of two, the GPU's own PCIe of four.
  const Bandwidth port = cluster.link(cluster.nic_to_leaf(0, graph.nics()[0].vertex)).rate;
  CHECK(alone - two == transfer_time(Bytes{4096}, port) - transfer_time(Bytes{2048}, port));
  CHECK(four < two);
  const SimulationResult result = simulate(cluster, parts.software, run);
  std::map<std::uint32_t, std::int64_t> carried;
  for (const LinkLoad& load : result.links) carried[index_of(load.link)] = load.carried.count;
  for (int nic = 0; nic < 4; ++nic) {
    const VertexId vertex = graph.nics()[static_cast<std::size_t>(nic)].vertex;
    CHECK(carried[index_of(cluster.nic_to_leaf(0, vertex))] == 1024);
    CHECK(carried[index_of(cluster.leaf_to_nic(1, vertex))] == 1024);
  }
}

TEST_CASE("fused NICs: one channel has the rate of both ports, sends and receives too") {
  const PartsCatalogue parts = bare_parts();
  const NodeGraph graph = NodeGraph::build(parse_node_type(kNode, "ports.yaml"), parts);
  const Cluster cluster(graph, 2, default_fabric(graph, parts));
  for (const NcclVersion version : kModelledVersions) {
    for (const auto& choice : {std::pair{Collective::all_reduce, "NCCL_ALGO=Ring"},
                               std::pair{Collective::all_reduce, "NCCL_ALGO=Tree"},
                               std::pair{Collective::sendrecv, "NCCL_ALGO=Ring"}}) {
      const Collective sent = choice.first;
      const char* const chosen = choice.second;
      CAPTURE(to_text(version));
      CAPTURE(to_text(sent));
      CAPTURE(chosen);
      const auto busbw = [&](const char* merge) {
        CommunicatorConfig config;
        config.version = version;
        for (const char* assignment : {"NCCL_IB_HCA=mlx5_0,mlx5_1", chosen, "NCCL_PROTO=Simple",
                                       "NCCL_MAX_NCHANNELS=1", "NCCL_MAX_P2P_NCHANNELS=1", merge})
          config.environment.set(assignment);
        const Communicator made = make_communicator(cluster, config);
        const DecidedCall call = decide_call(made, {sent, 1 << 26, 4, 0});
        const SimulationResult result = simulate(cluster, parts.software, call.run);
        return busbw_GBps(sent, 2, Bytes{std::int64_t{1} << 28}, result.time);
      };
      const double apart = busbw("NCCL_IB_MERGE_NICS=0"), fused = busbw("NCCL_IB_MERGE_NICS=1");
      CHECK(fused / apart == doctest::Approx(2).epsilon(0.03));
    }
  }
}
