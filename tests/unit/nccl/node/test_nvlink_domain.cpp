// Goal: NVLink-C2C is the way between a GPU and its CPU, and servers joined by NVLink are one node
// to NCCL while users still see each of them.
// Method: routes, names and ways of the presets by hand; a domain against the same servers apart;
// symbolic data through NVLS wider than a worker's connections; error messages verbatim.

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/hardware/cluster/nvlink_domain.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/settings.hpp"
#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/programs/gathered.hpp"
#include "tests/unit/nccl/programs/token_machine.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

using Names = std::vector<std::string>;

Cluster joined(const std::string& name, int nodes, int gpus = 0, const std::string& fabric = "") {
  return load_cluster({name, nodes, fabric, true, gpus}, load_catalogue());
}

Names names(const Cluster& cluster, const std::vector<LinkId>& links) {
  Names out;
  for (const LinkId link : links) out.push_back(cluster.link_name(link));
  return out;
}

TransportRules rules_of(NcclVersion version, const Names& environment = {}) {
  Environment env;
  for (const std::string& assignment : environment) env.set(assignment);
  std::vector<std::string> warnings;
  return transport_rules(read_search_settings(env, version, warnings), version);
}

NodeType tray() { return load_node_type("gb200-nvl72"); }

}  // namespace

TEST_CASE("C2C: between a GPU and its CPU, and on to what is behind it") {
  const Cluster cluster = load_cluster({"gh200-4", 1, ""}, load_catalogue());
  const NodeGraph& node = cluster.node();
  const VertexId gpu = node.find("gpu0"), own = node.find("cxi0"), far = node.find("cxi2");
  const auto route = [&](VertexId from, VertexId to) {
    Names out;
    for (const LinkId id : node.pcie_route(from, to)) out.push_back(node.link_name(id));
    return out;
  };
  CHECK(route(gpu, node.find("cpu0")) == Names{"gpu0 -> cpu0 (NVLink-C2C x10)"});
  CHECK(route(gpu, own) == Names{"gpu0 -> cpu0 (NVLink-C2C x10)", "cpu0 -> cxi0 (PCIe gen4 x16)"});
  CHECK(route(own, gpu) == Names{"cxi0 -> cpu0 (PCIe gen4 x16)", "cpu0 -> gpu0 (NVLink-C2C x10)"});
  CHECK(route(gpu, far) == Names{"gpu0 -> cpu0 (NVLink-C2C x10)", "cpu0 -> cpu2 (socket)",
                                 "cpu2 -> cxi2 (PCIe gen4 x16)"});
  CHECK(route(far, gpu) == Names{"cxi2 -> cpu2 (PCIe gen4 x16)", "cpu2 -> cpu0 (socket)",
                                 "cpu0 -> gpu0 (NVLink-C2C x10)"});
  CHECK(node.is_behind_c2c(gpu, own));
  CHECK_FALSE(node.is_behind_c2c(gpu, far));
  CHECK(node.smi_path(gpu, own) == SmiPath::node);
  // 10 x 44.712 GB/s x 0.8
  CHECK(node.link(node.pcie_route(gpu, own)[0]).rate == Bandwidth{357'696'000'000});
}

TEST_CASE("C2C: what shares a PCIe switch with the GPU does not use it") {
  const NodeType type = parse_node_type(R"(
kind: node
name: n
cpus:
  - cpu: Grace
    numa: 0
    affinity: "1"
    pci:
      - switch: PEX89144
        busid: "0000:01:00.0"
        pci:
          - {gpu: GH200, busid: "0000:02:00.0", c2c: 10}
          - {nic: ConnectX-7, name: near, busid: "0000:03:00.0"}
      - {nic: ConnectX-7, name: beside, busid: "0000:04:00.0"}
)",
                                        "n.yaml");
  const NodeGraph node = NodeGraph::build(type, load_catalogue());
  const VertexId gpu = node.find("gpu0");
  CHECK(node.pcie_route(gpu, node.find("near")).size() == 2);
  CHECK_FALSE(node.is_behind_c2c(gpu, node.find("near")));
  CHECK(node.link_name(node.pcie_route(gpu, node.find("beside")).front()) ==
        "gpu0 -> cpu0 (NVLink-C2C x10)");
  CHECK(node.link_name(node.pcie_route(node.find("beside"), gpu).back()) ==
        "cpu0 -> gpu0 (NVLink-C2C x10)");
}

TEST_CASE("C2C: more links than the GPU has") {
  NodeType type = load_node_type("gh200-4");
  for (PciConfig& root : type.pci) root.c2c *= 2;
  const std::string error = error_text([&] { NodeGraph::build(type, load_catalogue()); });
  CHECK(error.ends_with(".c2c: 20 NVLink-C2C links, but GH200 has 10"));
}

TEST_CASE("C2C: host memory is behind it, GPUDirect RDMA over it by version") {
  const Cluster cluster = load_cluster({"gh200-4", 2, ""}, load_catalogue());
  const auto way = [&](Protocol protocol, const TransportRules& rules) {
    return plan_transport(cluster, std::vector<int>{0, 1, 2, 3}, protocol, {0, 1, 1}, {1, 1, 1},
                          rules);
  };
  const Names to_host = {"node0: gpu1 -> cpu1 (NVLink-C2C x10)"};
  for (const NcclVersion version : kModelledVersions) {
    CAPTURE(to_text(version));
    // LL always goes through host memory.
    const Transport ll = way(Protocol::ll, rules_of(version));
    CHECK(names(cluster, ll.into_slots) == to_host);
    CHECK(ll.sender_flag == nanoseconds(120));
    CHECK(ll.receiver_flag == nanoseconds(120));
    // 2.21 thinks the NIC is too far (PHB); since 2.27 P2C is near enough.
    const bool direct = version >= kNccl2_27;
    CHECK(names(cluster, way(Protocol::simple, rules_of(version)).into_slots) ==
          (direct ? Names{} : to_host));
    CHECK(names(cluster,
                way(Protocol::simple, rules_of(version, {"NCCL_NET_GDR_LEVEL=PHB"})).into_slots)
              .empty());
    CHECK(names(cluster,
                way(Protocol::simple, rules_of(version, {"NCCL_NET_GDR_C2C=0"})).into_slots) ==
          to_host);
  }
  // Direct or not, the bytes go to the NIC through the CPU.
  const Transport direct = way(Protocol::simple, rules_of(kNccl2_30_7));
  CHECK(names(cluster, direct.network).front() == to_host.front());
  CHECK(names(cluster, direct.network).back() == "node1: cpu1 -> gpu1 (NVLink-C2C x10)");
}

TEST_CASE("C2C: through another GPU's NIC since 2.30, or if asked") {
  const Cluster cluster = load_cluster({"gh200-4", 2, ""}, load_catalogue());
  const auto proxy = [&](const TransportRules& rules) {
    return plan_transport(cluster, std::vector<int>{0, 1, 2, 3}, Protocol::simple, {0, 0, 3},
                          {1, 0, 3}, rules)
        .proxy_gpu;
  };
  CHECK(proxy(rules_of(kNccl2_21_5)) == 0);
  CHECK(proxy(rules_of(kNccl2_27_7)) == 0);
  CHECK(proxy(rules_of(kNccl2_27_7, {"NCCL_PXN_C2C=1"})) == 3);
  CHECK(proxy(rules_of(kNccl2_30_7)) == 3);
  CHECK(proxy(rules_of(kNccl2_30_7, {"NCCL_PXN_C2C=0"})) == 0);
}

TEST_CASE("domain: nodes divide over them, or are refused with the nearest numbers") {
  const NodeType type = tray();
  CHECK(trays_per_domain(type, 1) == 1);
  CHECK(trays_per_domain(type, 7) == 7);
  CHECK(trays_per_domain(type, 18) == 18);
  CHECK(trays_per_domain(type, 36) == 18);
  CHECK(trays_per_domain(load_node_type("dgx-h100"), 20) == 1);
  // As racks are used: 16 of 18 trays; 20 are two times 10.
  CHECK(trays_per_domain(type, 32) == 16);
  CHECK(trays_per_domain(type, 20) == 10);
  CHECK(trays_per_domain(type, 64) == 16);
  CHECK(trays_per_domain(type, 48) == 16);
  CHECK(trays_per_domain(type, 63) == 9);  // seven domains, just half full
  CHECK(error_text([&] { trays_per_domain(type, 19); }) ==
        "19 nodes of gb200-nvl72 do not divide over NVLink domains of up to 18 equally\n"
        "hint: 18 or 20 do; NCCL_MNNVL_ENABLE=0 makes every node one of its own");
  CHECK(error_text([&] { join_trays(type, 2, 5); }) ==
        "5 GPUs per node asked for, but gb200-nvl72 has 4\n"
        "hint: lower --gpus-per-node, or raise --nodes");
}

TEST_CASE("domain: one node to NCCL, nodes with names of their own to users") {
  const Cluster cluster = joined("gb200-nvl72", 36);
  const NodeGraph& node = cluster.node();
  CHECK(cluster.nodes() == 2);
  CHECK(cluster.hosts() == 36);
  CHECK(node.gpus().size() == 72);
  std::set<std::string> busids, guids;
  for (int gpu = 0; gpu < 72; ++gpu) {
    const Vertex& vertex = node.vertex(node.gpus()[static_cast<std::size_t>(gpu)].vertex);
    CHECK(vertex.tray == gpu / 4);
    CHECK(vertex.name == "gpu" + std::to_string(gpu % 4));
    busids.insert(vertex.busid);
  }
  for (const NicInfo& nic : node.nics()) guids.insert(nic.guid);
  CHECK(busids.size() == 72);
  CHECK(guids.size() == 72);
  const VertexId a = node.find("gpu3", 0), b = node.find("gpu0", 17);
  Names way;
  for (const LinkId link : node.nvlink_route(a, b))
    way.push_back(cluster.link_name(cluster.global(1, link)));
  CHECK(way ==
        Names{"node18: gpu3 -> nvswitch (NVLink x18)", "node35: nvswitch -> gpu0 (NVLink x18)"});
  CHECK(node.smi_path(node.find("gpu0", 3), node.find("mlx5_0", 4)) == SmiPath::sys);
  // Fewer GPUs of each: the first ones.
  CHECK(joined("gb200-nvl72", 18, 2).node().gpus().size() == 36);
}

TEST_CASE("domain: on the fabric its nodes stand where they stood apart") {
  for (const std::string fabric : {"", "fabric-ndr-nvl72", "fabric-ndr-fat-tree-2to1"}) {
    CAPTURE(fabric);
    const Cluster one = joined("gb200-nvl72", 54, 0, fabric);
    const Cluster apart = load_cluster({"gb200-nvl72", 54, fabric}, load_catalogue());
    CHECK(one.fabric_summary() == apart.fabric_summary());
    CHECK(one.leaves_per_plane() == apart.leaves_per_plane());
    const auto facts = [](const Cluster& cluster, const std::vector<LinkId>& route) {
      Names out;
      for (const LinkId id : route) {
        const ClusterLink link = cluster.link(id);
        out.push_back(cluster.link_name(id) + " " + std::to_string(link.rate.bytes_per_s) + " " +
                      std::to_string(link.latency.ps));
      }
      return out;
    };
    Dice random(5);
    for (int i = 0; i < 200; ++i) {
      const int from = static_cast<int>(random.pick(0, 53)),
                to = static_cast<int>(random.pick(0, 53));
      if (from / 18 == to / 18) continue;
      const std::string nic = "mlx5_" + std::to_string(random.pick(0, 3));
      const VertexId in_tray = apart.node().find(nic);
      CHECK(facts(one, one.fabric_route(from / 18, one.node().find(nic, from % 18), to / 18,
                                        one.node().find(nic, to % 18))) ==
            facts(apart, apart.fabric_route(from, in_tray, to, in_tray)));
    }
  }
}

TEST_CASE("domain: NCCL joins it unless told not to") {
  const auto joins = [](const Names& assignments) {
    Environment environment;
    for (const std::string& assignment : assignments) environment.set(assignment);
    return joins_nvlink_domain(environment, kNccl2_27_7);
  };
  CHECK(joins({}));
  CHECK(joins({"NCCL_MNNVL_ENABLE=2"}));
  CHECK_FALSE(joins({"NCCL_MNNVL_ENABLE=0"}));
  CHECK_FALSE(joins({"NCCL_CUMEM_ENABLE=0"}));
}

TEST_CASE("domain: the communicator has one node of all GPUs, and no way between hosts but NVLink" *
          minutes_under_sanitizers()) {
  const Cluster cluster = joined("gb200-nvl72", 18);
  for (const NcclVersion version : kModelledVersions) {
    CAPTURE(to_text(version));
    const Communicator made = decided_communicator(cluster, {version, {}, 0, false, {}});
    CHECK(made.nodes == 1);
    CHECK(made.hosts == 18);
    CHECK(made.ranks == 72);
    CHECK(made.model.input.nodes == 1);
    CHECK(made.model.input.nvls_heads == (version < kNccl2_21 ? 8 : 32));
    const NcclTopology& topology = made.graphs.topology;
    const NcclGraph& graph = topology.graph();
    CHECK(graph.count(TopoKind::cpu) == 36);
    int sys = 0;
    for (const TopoLink& link : graph.links()) sys += link.kind == TopoLinkKind::sys ? 1 : 0;
    CHECK(sys == 36);  // the two CPUs of each host, both ways
    CHECK(topology.farthest_type(TopoKind::gpu) == PathType::nvl);
    for (int gpu = 0; gpu < 72; ++gpu) {
      const TopoVertexId id = graph.at(TopoKind::gpu, gpu);
      CHECK(graph.vertex(topology.local_cpu(id)).host == graph.vertex(id).host);
    }
  }
  Environment off;
  off.set("NCCL_P2P_DISABLE=1");
  CHECK(error_text([&] {
          make_communicator(cluster, {kNccl2_27_7, off, 0, false, {}});
        }).starts_with("the GPUs of gb200-nvl72 fall apart into 18 groups"));
}

TEST_CASE("domain: NVLS over 72 GPUs gives everybody everybody's data once") {
  Dice random(13);
  for (int i = 0; i < 3; ++i) {
    const int trays = i == 0 ? 18 : static_cast<int>(random.pick(8, 10)), nodes = i + 1;
    const int gpus = 4 * trays;
    const Cluster cluster(
        NodeGraph::build(join_trays(tray(), trays, 0), load_catalogue()), nodes,
        default_fabric(NodeGraph::build(tray(), load_catalogue()), load_catalogue()));
    constexpr int heads = 32;
    CollectiveRun run;
    run.version = kNccl2_27_7;
    run.collective = Collective::all_reduce;
    run.algorithm = nodes == 1 ? Algorithm::nvls : Algorithm::nvls_tree;
    run.protocol = Protocol::simple;
    run.count = random.pick(1, 400'000);
    run.threads = 640;
    run.channels = run.communicator_channels = 2;
    run.members = Members::first(nodes, gpus);
    run.heads.heads = heads;
    run.graph.pattern = GraphPattern::nvls;
    for (int g = 0; g < heads; ++g) {
      GraphChannel channel;
      channel.gpu_order = {g};
      channel.net_in = channel.net_out = g;
      run.graph.channels.push_back(channel);
    }
    CAPTURE(gpus);
    CAPTURE(nodes);
    const Partition split = partition_of(run, run.members);
    TokenMachine machine;
    const PartsCatalogue parts = load_catalogue();
    Assembly assembly(machine, cluster, parts.software, run, split);
    add_nvls(assembly);

    check_all_gathered(machine, assembly, heads);

    // Ports of the switch: all GPUs are read whole, and the heads store the sum once; so back.
    const std::int64_t size = run.count * run.element_bytes;
    std::int64_t out_sum = 0, in_sum = 0;
    for (std::uint32_t l = 0; l < cluster.node().links().size(); ++l) {
      const NodeLink& link = cluster.node().link(LinkId{l});
      if (link.kind != LinkKind::nvlink || !machine.crossed().contains(l)) continue;
      const bool to_switch = cluster.node().vertex(link.to).kind == VertexKind::nvswitch;
      (to_switch ? out_sum : in_sum) += machine.crossed().at(l);
    }
    CHECK(out_sum == gpus * size + size);
    CHECK(in_sum == gpus * size + size);
  }
}
