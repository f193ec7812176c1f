// Goal: an all-to-all over racks that NVLink joins takes a time between its bounds, where some
// racks stand for all although leaves begin elsewhere on the others.
// Method: seeded random racks, leaves and sizes, small enough to be simulated whole; links that
// stand for others by hand.

#include <array>
#include <limits>

#include "models/hardware/cluster/nvlink_domain.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/exchange_bounds.hpp"
#include "models/nccl/symmetry/near_copies.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// Racks of so many trays with `gpus` GPUs each, below leaves of so many trays.
Cluster racks_of(int racks, int trays, int gpus, int leaf, const PartsCatalogue& parts) {
  const NodeType tray = load_node_type("gb200-nvl72");
  FabricConfig fabric = default_fabric(NodeGraph::build(tray, parts), parts);
  fabric.leaf_down = leaf;
  return {NodeGraph::build(join_trays(tray, trays, gpus), parts), racks, fabric};
}

/// Ports of a leaf; of every second draw those of `hosts` fill all leaves.
int leaf_of(Dice& random, int hosts) {
  constexpr int least = 3, most = 12;
  auto leaf = static_cast<int>(random.pick(least, most));
  if (random.pick(0, 1) == 0) return leaf;
  while (hosts % leaf != 0) leaf = leaf == least ? most : leaf - 1;
  return leaf;
}

CollectiveRun all_to_all(const Cluster& cluster, NcclVersion version, std::int64_t count) {
  CommunicatorConfig config;
  config.version = version;
  return decide_call(make_communicator(cluster, config), {Collective::alltoall, count}).run;
}

}  // namespace

TEST_CASE("bounds of all-to-alls over racks: the full run's time lies between, in random runs") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(41);
  constexpr int kRuns = cases(60);
  int bounded = 0, full = 0, fewest = 0;
  for (int tried = 0; bounded < kRuns && tried < 10 * kRuns; ++tried) {
    const auto racks = static_cast<int>(random.of(std::array{8, 12, 16}));
    const auto trays = static_cast<int>(random.pick(3, 6));
    const int leaf = leaf_of(random, racks * trays);
    const Cluster cluster =
        racks_of(racks, trays, static_cast<int>(random.pick(1, 2)), leaf, parts);
    const NcclVersion version =
        nccl_version_from_text(random.of(std::array{"2.25.1", "2.27.7", "2.30.7"}));
    const std::int64_t count = (std::int64_t{1} << random.pick(8, 19)) + random.pick(0, 4096);
    const CollectiveRun run = all_to_all(cluster, version, count);
    const Symmetry symmetry = find_symmetry(cluster, run);
    const std::uint64_t all = events_of_exchange(cluster, parts.software, run, symmetry);
    const auto found = bound_run(cluster, parts.software, run, symmetry,
                                 random.pick(0, 1) == 0 ? all / 2 + 1 : all / 3);
    if (!found) continue;
    ++bounded;
    full += cluster.hosts() % cluster.nodes_per_leaf() == 0;
    fewest += found->result.nodes_simulated < racks / 2;
    CAPTURE(tried);
    CAPTURE(count);
    CAPTURE(racks);
    CAPTURE(trays);
    CAPTURE(cluster.nodes_per_leaf());
    CAPTURE(to_text(run.version));
    CAPTURE(found->bounds.how);
    const Duration time = simulate(cluster, parts.software, run, symmetry, options(false)).time;
    CHECK(found->bounds.lower <= time);
    CHECK(time <= found->bounds.upper);
    CHECK(found->bounds.events == all);
  }
  CHECK(bounded == kRuns);
  CHECK(full >= kRuns / 10);
  CHECK(fewest >= kRuns / 10);
}

TEST_CASE("bounds of all-to-alls over racks: which have some") {
  const PartsCatalogue parts = load_catalogue();
  const auto bounds = [&](const Cluster& cluster, bool slow, std::uint64_t parts_of_budget,
                          bool is_dearest = false) {
    CollectiveRun run = all_to_all(cluster, kNccl2_27_7, 1 << 14);
    if (slow) run.faults.gpus = {{1, 0.5}};
    const Symmetry symmetry = find_symmetry(cluster, run);
    const std::uint64_t all = events_of_exchange(cluster, parts.software, run, symmetry);
    const std::uint64_t most = all / parts_of_budget + 1;
    return bound_run(cluster, parts.software, run, symmetry, most, {},
                     is_dearest ? most : std::numeric_limits<std::uint64_t>::max());
  };
  const Cluster eight = racks_of(8, 3, 1, 7, parts);  // every 7th stands as another does
  const auto found = bounds(eight, false, 2);
  REQUIRE(found);
  CHECK(found->bounds.how == "4 of 8 racks, as if leaves began alike for the others");
  CHECK(found->result.nodes_simulated == 4);
  CHECK_FALSE(bounds(eight, false, 1));  // small enough
  // Fewer racks say too little: the fewest that say something, if they are not too dear.
  const auto fewest = bounds(eight, false, 3);
  REQUIRE(fewest);
  CHECK(fewest->bounds.how == found->bounds.how);
  CHECK_FALSE(bounds(eight, false, 3, true));
  CHECK_FALSE(bounds(eight, true, 2));                          // a slow GPU is unlike
  CHECK_FALSE(bounds(racks_of(8, 3, 1, 3, parts), false, 2));   // racks fold
  CHECK_FALSE(bounds(racks_of(11, 3, 1, 7, parts), false, 2));  // no part of 11
}

TEST_CASE("near copies: own links, uplinks and links down to leaves") {
  // Racks of 3 hosts below leaves of 4: rack 2 has hosts 6 to 8, on leaves 1 and 2; rack 0 with
  // hosts 0 to 2 on leaf 0 stands for it. A leaf has 4 uplinks; host h hears from spine h % 4.
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = racks_of(4, 3, 1, 4, parts);
  const Move move = near_copies(cluster, 3, 2);
  CHECK(move.copies == 2);
  CHECK(move.representative(8) == 2);  // ranks of rack 2 to those of rack 0
  const VertexId nic = cluster.node().nics().front().vertex;
  const auto name = [&](LinkId link) {
    return cluster.link_name(move.representative(cluster, link));
  };
  CHECK(name(cluster.nic_to_leaf(2, nic)) == cluster.link_name(cluster.nic_to_leaf(0, nic)));
  CHECK(name(cluster.leaf_to_nic(3, nic)) == cluster.link_name(cluster.leaf_to_nic(1, nic)));
  CHECK(name(cluster.nic_to_leaf(1, nic)) == cluster.link_name(cluster.nic_to_leaf(1, nic)));
  // Host 0 to host 6: up from leaf 0 to spine 2, down to leaf 1; as to host 0, from spine 0.
  const std::vector<LinkId> route = cluster.fabric_route(0, nic, 2, nic);
  REQUIRE(route.size() == 4);
  CHECK(name(route[1]) == cluster.link_name(route[1]));
  CHECK(cluster.link_name(route[2]).starts_with("spine2 -> leaf0.1"));
  CHECK(name(route[2]).starts_with("spine0 -> leaf0.0"));
}
