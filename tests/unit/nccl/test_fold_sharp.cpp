// Goal: below a SHARP tree one node, or half of a node, stands for all.
// Method: as in test_fold.cpp.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/nccl/communicator/communicator.hpp"
#include "tests/unit/nccl/fold_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// NVLS or CollNet over nodes that stand anywhere below one SHARP tree; mostly so few that one
/// switch of the tree's model joins them, or several levels of them.
Drawn random_sharp(Dice& random, const PartsCatalogue& parts) {
  const NodeGraph& node = node_of("dgx-h100", parts);
  const int nodes =
      static_cast<int>(random.pick(0, 7) == 0 ? random.pick(33, 40) : random.pick(2, 9));
  const int all = nodes + static_cast<int>(random.pick(0, 3));
  FabricConfig fabric = default_fabric(node, parts);
  fabric.is_default = false;
  fabric.leaf_down = static_cast<int>(random.pick(1, 9));
  if (random.pick(0, 2) == 0) {
    fabric.kind = FabricConfig::Kind::fat_tree;
    fabric.leaf_down *= static_cast<int>(node.nics().size());
  }
  fabric.leaf.radix = fabric.spine.radix = 1024;
  CollectiveRun run;
  run.version = kNccl2_27_7;
  run.collective = Collective::all_reduce;
  run.algorithm =
      random.of(std::array{Algorithm::nvls, Algorithm::collnet_direct, Algorithm::collnet_chain});
  run.protocol = Protocol::simple;
  run.threads = 640;
  run.channels = run.communicator_channels = static_cast<int>(random.pick(1, 3));
  run.count = random.pick(1, nodes > 9 ? 50'000 : 500'000);
  const int gpus = static_cast<int>(random.pick(run.algorithm == Algorithm::nvls ? 2 : 1, 8));
  run.members = {random_subset(random, nodes, all), random_subset(random, gpus, 8)};
  run.heads.heads =
      run.algorithm == Algorithm::collnet_direct ? static_cast<int>(random.pick(1, gpus)) : gpus;
  for (int head = 0; head < run.heads.heads; ++head) {
    GraphChannel channel;
    for (int gpu = 0; gpu < gpus; ++gpu) channel.gpu_order.push_back((head + gpu) % gpus);
    channel.net_in = channel.net_out = head;
    run.graph.channels.push_back(channel);
  }
  return {Cluster(node, all, fabric), std::move(run)};
}

}  // namespace

TEST_CASE("one node below a SHARP tree for all: the full run, to the picosecond") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(17);
  int of_algorithm[kAlgorithms] = {};
  for (int i = 0; i < 60; ++i) {
    const Drawn drawn = random_sharp(random, parts);
    const CollectiveRun& run = drawn.run;
    CAPTURE(i);
    CAPTURE(to_text(run.algorithm));
    CAPTURE(drawn.cluster.fabric_summary());
    CAPTURE(run.members.node_count());
    CAPTURE(run.members.gpus_per_node());
    CAPTURE(run.count);
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    CHECK(symmetry.nodes() == 1);
    CHECK(symmetry.why_not == "");
    const bool explain = i % 4 == 0;
    const SimulationResult full =
        simulate(drawn.cluster, parts.software, run, options(false, false, explain));
    const SimulationResult got =
        simulate(drawn.cluster, parts.software, run, options(true, i % 2 == 1, explain));
    check_equal(got, full);
    CHECK(got.causes == full.causes);
    CHECK(got.nodes_simulated == 1);
    check_links(drawn, got, full);
    ++of_algorithm[index_of(run.algorithm)];
  }
  for (const Algorithm algorithm :
       {Algorithm::nvls, Algorithm::collnet_direct, Algorithm::collnet_chain})
    CHECK(of_algorithm[index_of(algorithm)] >= 10);
}

TEST_CASE("nodes below a SHARP tree that are unlike are all simulated") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(18);
  for (int i = 0; i < 50; ++i) {
    Drawn drawn = random_sharp(random, parts);
    CollectiveRun& run = drawn.run;
    run.count = std::min<std::int64_t>(run.count, 50'000);
    std::string why;
    const int kind = i % 5;
    switch (kind) {
      case 0:
      case 1:
      case 2:
        why = spoil_one_part(drawn, kind, run.members.ranks(), random);
        break;
      case 3: {
        FabricConfig fabric = drawn.cluster.fabric();
        fabric.nodes_per_rack = 1;
        fabric.racks.pitch_metres = 1;
        drawn.cluster = Cluster(drawn.cluster.node(), drawn.cluster.nodes(), fabric);
        why = "cables differ in length";
        break;
      }
      case 4:
        if (run.algorithm == Algorithm::collnet_chain) run.algorithm = Algorithm::nvls;
        if (run.members.gpus_per_node() == 1) continue;
        run.heads.heads = static_cast<int>(run.graph.channels.size());
        if (run.heads.heads != run.members.gpus_per_node()) continue;
        run.collective = random.of(std::array{Collective::all_gather, Collective::reduce_scatter});
        why = "each node has a share of its own";
        break;
    }
    CAPTURE(i);
    CAPTURE(to_text(run.algorithm));
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    // Two nodes may be as far from the middle of their racks.
    if (why == "cables differ in length" && symmetry.copies() > 1) continue;
    CHECK(symmetry.copies() == 1);
    CHECK(symmetry.why_not == why);
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false)),
                           got = simulate(drawn.cluster, parts.software, run, options(true));
    check_equal(got, full);
    CHECK(got.why_not_folded == why);
  }
}
