// Goal: sends and receives of which equal nodes are simulated once are the full run, and numbers
// per block leave equal blocks equal. Method: as test_fold.cpp, with calls that NCCL decided in
// seeded random environments.

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

Communicator sending(const Cluster& cluster, const Members& members, NcclVersion version,
                     const std::vector<std::string>& environment) {
  CommunicatorConfig config;
  config.version = version;
  config.members = members;
  for (const std::string& assignment : environment) config.environment.set(assignment);
  return make_communicator(cluster, config);
}

std::vector<std::string> random_environment(Dice& random) {
  std::vector<std::string> out = {"NCCL_MAX_P2P_NCHANNELS=" + std::to_string(random.pick(1, 4))};
  for (const char* assignment :
       {"NCCL_PXN_DISABLE=1", "NCCL_P2P_PXN_LEVEL=1", "NCCL_ALLOC_P2P_NET_LL_BUFFERS=1",
        "NCCL_NET_SHARED_BUFFERS=0", "NCCL_NET_GDR_LEVEL=LOC", "NCCL_NCHANNELS_PER_NET_PEER=4",
        "NCCL_P2P_NET_CHUNKSIZE=65536", "NCCL_P2P_LL_THRESHOLD=100000"}) {
    if (random.pick(0, 5) == 0) out.emplace_back(assignment);
  }
  return out;
}

Drawn random_exchange(Dice& random, const PartsCatalogue& parts) {
  const NodeGraph& node =
      node_of(random.of(std::array{"dgx-h100", "dgx-a100", "gb200-nvl72", "pcie-2gpu", "gh200-4",
                                   "hgx-b300", "dgx-1-v100", "dgx2-v100", "a40-8", "pcie-8",
                                   "hgx-h200-2nic", "h100-pcie-nvl-4"}),
              parts);
  const int nodes = static_cast<int>(random.of(std::array{1, 2, 3, 4, 4, 6, 8, 9}));
  Cluster cluster(
      node, nodes,
      random.pick(0, 3) == 0 ? default_fabric(node, parts) : random_fabric(random, node, parts));
  const auto all_gpus = static_cast<std::int64_t>(node.gpus().size());
  const int gpus = static_cast<int>(
      random.pick(1, std::min<std::int64_t>(all_gpus, random.of(std::array{1, 2, 3, 4, 8, 16}))));
  const Members members = random_members(random, nodes, static_cast<int>(all_gpus), gpus);
  const Communicator communicator =
      sending(cluster, members, random.of(releases_with_kernels(node.gpus()[0].part.sm)),
              random_environment(random));
  Call call;
  call.collective = random.pick(0, 3) == 0 ? Collective::sendrecv : Collective::alltoall;
  call.count = random.pick(1, random.pick(0, 1) == 0 ? 2'000 : 150'000);
  CollectiveRun run = decide_call(communicator, call).run;
  run.in_place = random.pick(0, 1) == 0;
  return {std::move(cluster), std::move(run)};
}

}  // namespace

TEST_CASE("folded exchange = full, to the picosecond, for every rank and link") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(21);
  constexpr int kRuns = cases(600);
  int folded = 0, flows = 0, packets = 0;
  for (int tried = 0; folded < kRuns && tried < 6'000; ++tried) {
    const Drawn drawn = random_exchange(random, parts);
    const CollectiveRun& run = drawn.run;
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    if (symmetry.copies() == 1) {
      CHECK(!symmetry.why_not.empty());
      continue;
    }
    ++folded;
    CAPTURE(tried);
    CAPTURE(drawn.cluster.node().name());
    CAPTURE(drawn.cluster.fabric_summary());
    CAPTURE(to_text(run.collective));
    CAPTURE(to_text(run.version));
    CAPTURE(run.count);
    CAPTURE(run.members.node_count());
    CAPTURE(symmetry.nodes());
    const bool explain = folded % 4 == 0;
    const SimulationResult full =
        simulate(drawn.cluster, parts.software, run, options(false, false, explain));
    const SimulationResult got =
        simulate(drawn.cluster, parts.software, run, options(true, false, explain));
    check_equal(got, full);
    CHECK(got.causes == full.causes);
    CHECK(got.nodes_simulated == symmetry.nodes());
    CHECK(full.nodes_simulated == run.members.node_count());
    CHECK(got.events_skipped == got.events - got.events / static_cast<unsigned>(symmetry.copies()));
    check_links(drawn, got, full);
    // All copies of a rank end at the same time.
    const auto period = static_cast<std::size_t>(symmetry.nodes()) *
                        static_cast<std::size_t>(run.members.gpus_per_node());
    for (std::size_t rank = period; rank < full.rank_finish.size(); ++rank)
      CHECK(full.rank_finish[rank] == full.rank_finish[rank - period]);
    if (folded % 4 != 0) continue;
    flows += check_carried(drawn, parts.software, Rung::flow);
    packets += check_carried(drawn, parts.software, Rung::packet);
  }
  CHECK(folded == kRuns);
  CHECK(flows == kRuns / 4);
  CHECK(packets >= kRuns / 40);
}

TEST_CASE("nodes of one leaf are alike where each has a spine of its own") {
  // Without PXN messages cross rails, and so do rings, some on every second node.
  const PartsCatalogue parts = load_catalogue();
  Dice random(22);
  constexpr int kRuns = cases(200);
  int of_spines = 0, rings = 0, packets = 0;
  for (int tried = 0; of_spines < kRuns && tried < 4'000; ++tried) {
    const NodeGraph& node =
        node_of(random.of(std::array{"dgx-h100", "gh200-4", "hgx-h200-2nic", "dgx2-v100"}), parts);
    const int nodes = static_cast<int>(random.pick(2, 9));
    FabricConfig fabric = default_fabric(node, parts);
    fabric.is_default = false;
    fabric.leaf_down = static_cast<int>(random.pick(nodes, 16));
    fabric.oversubscription = static_cast<double>(random.pick(1, 3));
    fabric.leaf.radix = fabric.spine.radix = 1024;
    const Cluster cluster(node, nodes, fabric);
    const int gpus = static_cast<int>(random.pick(1, std::ssize(node.gpus())));
    const Members members =
        random_members(random, nodes, static_cast<int>(node.gpus().size()), gpus);
    std::vector<std::string> environment = random_environment(random);
    environment.emplace_back("NCCL_PXN_DISABLE=1");
    environment.emplace_back("NCCL_ALGO=Ring");
    const Communicator communicator = sending(
        cluster, members, random.of(releases_with_kernels(node.gpus()[0].part.sm)), environment);
    // Few rings are alike so: one of 20 runs at least.
    const Collective drawn_one = random.of(std::array{
        Collective::alltoall, Collective::alltoall, Collective::sendrecv, Collective::all_gather});
    const Collective collective = rings * 20 <= of_spines ? Collective::all_gather : drawn_one;
    const Call call{collective, random.pick(1, 60'000), 4, 0};
    const Drawn drawn{cluster, decide_call(communicator, call).run};
    const Symmetry symmetry = find_symmetry(cluster, drawn.run);
    if (symmetry.copies() == 1 || symmetry.moves.back().trunk.empty()) continue;
    ++of_spines;
    rings += collective == Collective::all_gather ? 1 : 0;
    CAPTURE(tried);
    CAPTURE(node.name());
    CAPTURE(to_text(collective));
    CAPTURE(symmetry.nodes());
    const bool explain = of_spines % 4 == 0;
    const SimulationResult full =
        simulate(cluster, parts.software, drawn.run, options(false, false, explain));
    const SimulationResult got =
        simulate(cluster, parts.software, drawn.run, options(true, false, explain));
    check_equal(got, full);
    check_links(drawn, got, full);
    check_moves(drawn, symmetry);
    const std::vector<Stream> row = streams_of(std::span(&drawn.run, 1), 3);
    CHECK(simulate(cluster, parts.software, row, options(true)).streams.front().ended ==
          simulate(cluster, parts.software, row, options(false)).streams.front().ended);
    if (!explain) continue;
    check_carried(drawn, parts.software, Rung::flow);
    packets += check_carried(drawn, parts.software, Rung::packet);
  }
  CHECK(of_spines == kRuns);
  CHECK(packets >= kRuns / 40);
  CHECK(rings >= kRuns / 20);
}

TEST_CASE("an exchange that is unlike in one place is not folded, and says why") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-h100", parts);
  FabricConfig leaves_of_two = default_fabric(node, parts);
  leaves_of_two.leaf_down = 2;
  const auto refused = [&](int nodes, const FabricConfig& fabric, const Members& members,
                           Collective collective, const std::vector<std::string>& environment,
                           const std::string& why, bool slow_link = false) {
    Cluster cluster(node, nodes, fabric);
    const Communicator communicator = sending(cluster, members, kNccl2_27_7, environment);
    CollectiveRun run = decide_call(communicator, {collective, 20'000, 4, 1}).run;
    if (slow_link) {
      const LinkId link = cluster.first_fabric_link();
      cluster.set_rate(link, {cluster.link(link).rate.bytes_per_s / 2});
    }
    CAPTURE(why);
    const Symmetry symmetry = find_symmetry(cluster, run);
    CHECK(symmetry.copies() == 1);
    CHECK(symmetry.why_not == why);
    const SimulationResult full = simulate(cluster, parts.software, run, options(false)),
                           got = simulate(cluster, parts.software, run, options(true));
    check_equal(got, full);
    CHECK(got.digest == full.digest);
    CHECK(got.why_not_folded == why);
  };
  const FabricConfig usual = default_fabric(node, parts);
  const Members four = Members::first(4, 2);
  refused(4, usual, four, Collective::gather, {}, "the root is unlike other ranks");
  refused(4, usual, four, Collective::scatter, {}, "the root is unlike other ranks");
  refused(1, usual, Members::first(1, 4), Collective::sendrecv, {}, "there is one node");
  refused(4, usual, four, Collective::alltoall, {}, "a link has a rate of its own", true);
  // The destination's NIC is on another rail: that way crosses a spine, which follows from the
  // port. Two of four nodes share one.
  FabricConfig two_spines = usual;
  two_spines.leaf_down = 4;
  two_spines.oversubscription = 2;
  refused(4, two_spines, four, Collective::alltoall, {"NCCL_PXN_DISABLE=1"},
          "nodes of one leaf use different spines");
  refused(3, leaves_of_two, Members::first(3, 1), Collective::alltoall, {},
          "nodes of one leaf are not in equal places: it holds 2");
  refused(5, usual, {{0, 1, 2, 4}, {0}}, Collective::alltoall, {},
          "the nodes are not spread evenly");
  FabricConfig racks = leaves_of_two;
  racks.nodes_per_rack = 1;
  racks.racks.pitch_metres = 1;
  // The spines stand between the second and the third leaf.
  const Members eight = Members::first(8, 1);
  refused(8, racks, eight, Collective::alltoall, {}, "cables differ in length");
  refused(8, racks, eight, Collective::sendrecv, {}, "cables differ in length");
}

TEST_CASE("rails of an all-to-all are alike where each of them is sent to by one GPU of a node") {
  // Below leaves of 2 three nodes are unlike, and so are the CPUs that GPUs of a rail stand beside.
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-h100", parts);
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf_down = 2;
  const Cluster cluster(node, 3, fabric);
  const auto rails = [&](const std::vector<std::string>& environment, int gpus = 8,
                         Collective collective = Collective::alltoall) {
    const Members members = Members::first(3, gpus);
    const Communicator communicator = sending(cluster, members, kNccl2_27_7, environment);
    return find_symmetry(cluster, decide_call(communicator, {collective, 20'000, 4, 1}).run)
        .rails();
  };
  CHECK(rails({}) == 8);
  CHECK(rails({}, 4) == 4);
  CHECK(rails({}, 6) == 1);                        // four beside one CPU, two beside the other
  CHECK(rails({}, 8, Collective::sendrecv) == 1);  // one ring of all ranks
  CHECK(rails({}, 8, Collective::scatter) == 1);
  // Each GPU sends to all rails.
  CHECK(rails({"NCCL_PXN_DISABLE=1"}) == 1);
  // LL is stored to the memory of the CPU beside the NIC, which is near or far.
  CHECK(rails({"NCCL_ALLOC_P2P_NET_LL_BUFFERS=1"}) == 1);
}

TEST_CASE("GPUs that reach some of the others in another way are no equal rails of an all-to-all") {
  // A move by four takes each message to one of its kind, and yet halves of a node drift apart.
  const PartsCatalogue parts = load_catalogue();
  for (const char* preset : {"a40-8", "dgx-1-v100", "pcie-8"}) {
    const Cluster cluster(node_of(preset, parts), 1, default_fabric(node_of(preset, parts), parts));
    const Communicator communicator = sending(cluster, Members::first(1, 8), kNccl2_27_7, {});
    for (const std::int64_t count : {130, 1'000, 16'000, 60'000}) {
      CAPTURE(preset);
      CAPTURE(count);
      const CollectiveRun run = decide_call(communicator, {Collective::alltoall, count, 4, 1}).run;
      CHECK(find_symmetry(cluster, run).rails() == 1);
      check_equal(simulate(cluster, parts.software, run, options(true)),
                  simulate(cluster, parts.software, run, options(false)));
    }
  }
}
