// What is slow in the same place of all nodes that are alike does not stand against folding.

#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

namespace fabricast::testing {
namespace {

/// A ring on leaves of two nodes.
Drawn ring_on_small_leaves(Dice& random, const PartsCatalogue& parts, int nodes) {
  const NodeGraph& node = node_of("dgx-a100", parts);
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf_down = 2;
  CollectiveRun run = ring_call(Collective::all_gather, random.of(kAllProtocols), 4, 40'000);
  run.channels = run.communicator_channels = 2;
  return {Cluster(node, nodes, fabric), std::move(run)};
}

TEST_CASE("equal faults fold, to the picosecond; one that is missing does not") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(19);
  for (int i = 0; i < cases(30); ++i) {
    const int nodes = 2 * static_cast<int>(random.pick(2, 4));
    Drawn drawn = ring_on_small_leaves(random, parts, nodes);
    CollectiveRun& run = drawn.run;
    const int gpus = run.graph.gpus(), local = static_cast<int>(random.pick(0, 2 * gpus - 1));
    const LinkId nic = drawn.cluster.nic_to_leaf(0, drawn.cluster.node().nics().front().vertex);
    const Bandwidth whole_rate = drawn.cluster.link(nic).rate, slow{whole_rate.bytes_per_s / 20};
    // Of every second node a GPU, or its first NIC. (A GPU at half speed would cost nothing with
    // LL: it stores faster than the proxies of this node read flags.)
    for (int pair = 0; pair < nodes / 2; ++pair) {
      if (i % 2 == 0) {
        run.faults.gpus.push_back({2 * gpus * pair + local, 0.25});
      } else {
        drawn.cluster.set_rate(
            drawn.cluster.nic_to_leaf(2 * pair, drawn.cluster.node().nics().front().vertex), slow);
      }
    }
    CAPTURE(i);
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    CHECK(symmetry.nodes() == 2);
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false));
    const SimulationResult got = simulate(drawn.cluster, parts.software, run, options(true, true));
    check_equal(got, full);
    check_links(drawn, got, full);
    CollectiveRun healthy = run;
    healthy.faults = {};
    const Cluster whole(drawn.cluster.node(), nodes, drawn.cluster.fabric());
    CHECK(simulate(whole, parts.software, healthy, options(true)).time < got.time);
    if (i % 2 != 0) {
      drawn.cluster.set_rate(nic, whole_rate);
    } else {
      run.faults.gpus.pop_back();
    }
    CHECK(find_symmetry(drawn.cluster, run).why_not ==
          (i % 2 == 0 ? "a GPU is slow" : "a link has a rate of its own"));
  }
}

}  // namespace
}  // namespace fabricast::testing
