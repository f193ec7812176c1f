// Goal: a GPU that stores to host memory and loads from it at once does both slower, one that does
// either does not.
// Method: two GPUs without P2P exchange a large message and send one; two rings whose steps take
// P2P and host memory in turn; against closed forms from the CPU's rate.

#include <doctest/doctest.h>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/simulation.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr std::int64_t kThroughHost = std::int64_t{1} << 28;

/// On pcie-2gpu, whose two GPUs have a root port each.
double host_seconds(const PartsCatalogue& parts, Collective collective,
                    std::initializer_list<const char*> variables) {
  const Cluster cluster = load_cluster({"pcie-2gpu", 1, ""}, parts);
  CommunicatorConfig config;
  for (const char* variable : variables) config.environment.set(variable);
  const Communicator made = make_communicator(cluster, config);
  const CollectiveRun run = decide_call(made, {collective, kThroughHost / 4}).run;
  return microseconds_of(simulate(cluster, parts.software, run).time) * 1e-6;
}

PartsCatalogue with_duplex_rate(Bandwidth rate, Bandwidth of_trees = {}) {
  PartsCatalogue parts = load_catalogue();
  for (auto& [name, cpu] : parts.cpus) {
    cpu.duplex_rate = rate;
    cpu.duplex_tree_rate = of_trees;
  }
  return parts;
}

}  // namespace

TEST_CASE("host memory: what two GPUs store and load at once shares one rate") {
  const PartsCatalogue slow = with_duplex_rate({4'000'000'000}), free = with_duplex_rate({});
  const auto shm = {"NCCL_P2P_DISABLE=1"};
  // Each sends its bytes to the other, in all_reduce a half of them twice: 2 GB/s each way.
  for (const Collective collective : {Collective::all_gather, Collective::all_reduce}) {
    CHECK(host_seconds(slow, collective, shm) == doctest::Approx(kThroughHost / 2e9).epsilon(0.03));
    CHECK(host_seconds(free, collective, shm) < kThroughHost / 6e9);
  }
  // One stores, the other loads.
  CHECK(host_seconds(slow, Collective::broadcast, shm) ==
        host_seconds(free, Collective::broadcast, shm));
  // With P2P nothing lies in host memory.
  const auto p2p = {"NCCL_P2P_LEVEL=SYS"};
  CHECK(host_seconds(slow, Collective::all_gather, p2p) ==
        host_seconds(free, Collective::all_gather, p2p));
}

TEST_CASE("host memory: a share of what the GPU's link carries both ways, where no rate is known") {
  PartsCatalogue parts = with_duplex_rate({});
  for (auto& [name, cpu] : parts.cpus) {
    cpu.duplex_share = 0.25;
    cpu.root_share = 0;
  }
  const double link = static_cast<double>(parts.pcie.at(4).effective_x16.bytes_per_s);
  CHECK(host_seconds(parts, Collective::all_gather, {"NCCL_P2P_DISABLE=1"}) ==
        doctest::Approx(kThroughHost / (link / 4)).epsilon(0.05));
}

TEST_CASE("host memory: of a tree, threads that store are others than those that load") {
  // Both GPUs store all bytes once and load them once, up and down.
  const auto seconds = [](Bandwidth of_trees) {
    return host_seconds(with_duplex_rate({4'000'000'000}, of_trees), Collective::all_reduce,
                        {"NCCL_P2P_DISABLE=1", "NCCL_ALGO=Tree", "NCCL_PROTO=Simple"});
  };
  CHECK(seconds({6'000'000'000}) == doctest::Approx(kThroughHost / 3e9).epsilon(0.03));
  CHECK(seconds({}) == doctest::Approx(kThroughHost / 2e9).epsilon(0.03));
}

TEST_CASE("host memory: the steps of a ring say which GPUs store and load at once") {
  ChannelGraph graph;
  graph.channels = {{.gpu_order = {1, 0}}, {.gpu_order = {1, 0}}};
  using Step = GpuTraffic::Step;
  const GpuTraffic alone = ring_traffic(graph, Members::first(1, 2));
  CHECK(alone.kind == GpuTraffic::Kind::rings);
  CHECK(alone.rings == std::vector<Step>{{0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}});
  graph.channels = {{.gpu_order = {1, 0}, .net_in = 2, .net_out = 3}};
  const GpuTraffic several = ring_traffic(graph, Members::first(2, 2));
  constexpr int kOther = GpuTraffic::other_node;
  CHECK(several.rings == std::vector<Step>{{0, 1, 0}, {0, kOther, 1, 2}, {0, 0, kOther, 3}});

  const Cluster cluster = load_cluster({"pcie-2gpu", 1, ""}, load_catalogue());
  const auto shared = [&](const GpuTraffic& traffic) {
    TransportRules rules;
    rules.p2p_level = PathType::loc;
    rules.traffic = traffic;
    const Transport way = plan_transport(cluster, Members::first(1, 2).gpus(), Protocol::simple,
                                         {0, 0, -1}, {0, 1, -1}, rules);
    std::vector<std::string> out;
    for (const LinkId link : way.into_slots) {
      const std::string name = cluster.link_name(link);
      if (name.find("loads and stores") != std::string::npos) out.push_back(name);
    }
    return out;
  };
  using Kind = GpuTraffic::Kind;
  const std::vector<std::string> both = {"node0: cpu0 -> cpu0 (loads and stores of gpu0)",
                                         "node0: cpu0 -> cpu0 (loads and stores of gpu1)"};
  CHECK(shared({Kind::both_ways}) == both);
  CHECK(shared({Kind::trees}) == both);
  CHECK(shared({Kind::one_way}).empty());
  CHECK(shared({Kind::rings, {{0, 0, 1}, {0, 1, 0}}}) == both);
  CHECK(shared({Kind::rings, {{0, 0, 1}}}).empty());
  // One block stores, another one loads.
  CHECK(shared({Kind::rings, {{0, 0, 1}, {1, 1, 0}}}).empty());
  CHECK(traffic_of(Collective::alltoall, 2).kind == Kind::both_ways);
  CHECK(traffic_of(Collective::reduce, 2).kind == Kind::one_way);
  CHECK(traffic_of(Collective::reduce, 3).kind == Kind::both_ways);
  CHECK(traffic_of(Collective::gather, 3).kind == Kind::one_way);
}
