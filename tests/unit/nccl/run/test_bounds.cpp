// Goal: what is too large to be simulated whole takes a time between its bounds. Method: seeded
// random rings that do not fold (chunks that differ, leaves that are not full, a slow GPU or NIC),
// small enough to be simulated whole, too.

#include "models/nccl/run/bounds.hpp"

#include <algorithm>
#include <optional>

#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/exchange_bounds.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

FabricConfig small_leaves(Dice& random, const NodeGraph& node, const PartsCatalogue& parts) {
  FabricConfig fabric = default_fabric(node, parts);
  if (random.pick(0, 3) > 0) fabric.leaf_down = static_cast<int>(random.pick(2, 6));
  return fabric;
}

void break_something(Dice& random, Drawn& drawn) {
  Cluster& cluster = drawn.cluster;
  const auto node = static_cast<int>(random.pick(0, cluster.nodes() - 1));
  switch (random.pick(0, 5)) {
    case 0: {
      const auto rank = static_cast<int>(random.pick(0, drawn.run.members.ranks() - 1));
      drawn.run.faults.gpus = {{rank, 0.5 + 0.1 * static_cast<double>(random.pick(0, 4))}};
      return;
    }
    case 1: {
      const VertexId nic = random.of(cluster.node().nics()).vertex;
      const LinkId link =
          random.pick(0, 1) == 0 ? cluster.nic_to_leaf(node, nic) : cluster.leaf_to_nic(node, nic);
      cluster.set_rate(link, {cluster.link(link).rate.bytes_per_s / random.pick(2, 4)});
      return;
    }
    default:
      return;
  }
}

std::optional<Drawn> random_ring(Dice& random, const PartsCatalogue& parts) {
  const NodeGraph& node = node_of(random.of(std::array{"dgx-h100", "dgx-a100"}), parts);
  const bool whole = random.pick(0, 1) == 0;  // rings of all GPUs cross NICs on some
  Cluster cluster(node, static_cast<int>(random.pick(6, whole ? 13 : 16)),
                  small_leaves(random, node, parts));
  CommunicatorConfig config;
  config.version = nccl_version_from_text(random.of(std::array{"2.19.3", "2.21.5", "2.27.7"}));
  config.gpus_per_node = whole ? 8 : 4;
  config.environment.set("NCCL_ALGO", "Ring");
  config.environment.set("NCCL_PROTO", to_text(random.of(kAllProtocols)));
  const Communicator communicator = make_communicator(cluster, config);
  const Collective collective =
      random.of(std::array{Collective::all_reduce, Collective::all_reduce, Collective::all_gather,
                           Collective::reduce_scatter});
  std::int64_t count = (std::int64_t{1} << random.pick(8, 19)) + random.pick(0, 300'000);
  if (collective != Collective::all_reduce) count = std::max(count / communicator.ranks, 1L);
  return Drawn{std::move(cluster), decide_call(communicator, {collective, count}).run};
}

}  // namespace

TEST_CASE("bounds of rings: the full run's time lies between, in random runs") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(29);
  constexpr int kRuns = cases(100);
  int bounded = 0, chunks = 0, leaves = 0, faulty = 0, odd = 0, narrow = 0;
  for (int tried = 0; bounded < kRuns && tried < 10 * kRuns; ++tried) {
    Drawn drawn = *random_ring(random, parts);
    break_something(random, drawn);
    const CollectiveRun& run = drawn.run;
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    const std::uint64_t events = job_size(drawn.cluster, parts.software, run, symmetry).simulated;
    const auto most = static_cast<std::uint64_t>(
        random.pick(static_cast<std::int64_t>(events / 4), static_cast<std::int64_t>(events) - 1));
    const auto found = bound_run(drawn.cluster, parts.software, run, symmetry, most);
    if (!found) continue;
    ++bounded;
    chunks += symmetry.why_not.find("chunks") != std::string::npos;
    leaves += found->bounds.how.find("one leaf") != std::string::npos;
    faulty += found->bounds.how.find("faults") != std::string::npos;
    odd += found->bounds.how.find(", on ") != std::string::npos;
    narrow += found->bounds.half_width() < 0.03;
    CAPTURE(tried);
    CAPTURE(to_text(run.protocol));
    CAPTURE(to_text(run.collective));
    CAPTURE(run.count);
    CAPTURE(found->bounds.how);
    const Duration time =
        simulate(drawn.cluster, parts.software, run, symmetry, options(false)).time;
    CHECK(found->bounds.lower <= time);
    CHECK(time <= found->bounds.upper);
    CHECK(found->bounds.events == events);
    CHECK(found->result.time == found->bounds.middle());
  }
  CHECK(bounded == kRuns);
  for (const int times : {chunks, leaves, faulty, odd, narrow}) CHECK(times >= kRuns / 20);
}

TEST_CASE("bounds: what folds, is small, or has no twins has none") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-h100", parts);
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf_down = 4;
  Cluster cluster(node, 6, fabric);
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  config.gpus_per_node = 1;
  config.environment.set("NCCL_ALGO", "Ring");
  const Communicator communicator = make_communicator(cluster, config);
  const auto has_bounds = [&](const Cluster& on, CollectiveRun run, std::uint64_t most) {
    const Symmetry symmetry = find_symmetry(on, run);
    return bound_run(on, parts.software, run, symmetry, most).has_value();
  };
  const CollectiveRun ring = decide_call(communicator, {Collective::all_gather, 1 << 16}).run;
  const Symmetry symmetry = find_symmetry(cluster, ring);
  REQUIRE(symmetry.copies() == 1);  // 6 nodes are no whole leaves of 4
  const std::uint64_t events = job_size(cluster, parts.software, ring, symmetry).simulated;
  CHECK(has_bounds(cluster, ring, events - 1));
  CHECK_FALSE(has_bounds(cluster, ring, events));
  fabric.leaf_down = 3;
  CHECK_FALSE(has_bounds(Cluster(node, 6, fabric), ring, events - 1));  // two whole leaves fold
  fabric.leaf_down = 4;
  fabric.routing = Routing::ecmp;
  CHECK_FALSE(has_bounds(Cluster(node, 6, fabric), ring, events - 1));
  CollectiveRun down = ring;
  down.faults.outages = {{cluster.first_fabric_link(), Outage{}}};
  CHECK_FALSE(has_bounds(cluster, down, events - 1));
  const CollectiveRun root = decide_call(communicator, {Collective::broadcast, 1 << 16}).run;
  CHECK_FALSE(has_bounds(cluster, root, 1));
}

TEST_CASE("bounds of a ring whose chunks are even but for one leaf: hops to spines and back") {
  // Few bytes of each of 6 ranks go round in 5 steps. Below leaves of 4, nodes 3 -> 4 and 5
  // -> 0 cross a spine; with leaves of 2 so does 1 -> 2, and with one leaf none.
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-h100", parts);
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  config.gpus_per_node = 1;
  config.environment.set("NCCL_ALGO", "Ring");
  const auto on = [&](int leaf) {
    FabricConfig fabric = default_fabric(node, parts);
    fabric.leaf_down = leaf;
    return Cluster(node, 6, fabric);
  };
  const Cluster cluster = on(4);
  const CollectiveRun run =
      decide_call(make_communicator(cluster, config), {Collective::all_gather, 16}).run;
  const auto time_on = [&](const Cluster& other) {
    return simulate(other, parts.software, run, options(false)).time;
  };
  const Symmetry symmetry = find_symmetry(cluster, run);
  const std::uint64_t events = job_size(cluster, parts.software, run, symmetry).simulated;
  const auto found = bound_run(cluster, parts.software, run, symmetry, events - 1);
  REQUIRE(found);
  const Duration slower = time_on(on(2)), faster = time_on(on(6));
  CHECK(faster < slower);
  CHECK(static_cast<double>(found->bounds.upper.ps) ==
        doctest::Approx(static_cast<double>(slower.ps) * (1 + order_matters(6))).epsilon(1e-7));
  CHECK(static_cast<double>(found->bounds.lower.ps) >=
        static_cast<double>(faster.ps) * (1 - order_matters(6)) * (1 - 1e-7));
}

TEST_CASE("bounds of all-to-alls with a fault: the full run's time lies between, in random runs") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(31);
  constexpr int kRuns = cases(100);
  int bounded = 0, narrow = 0;
  for (int tried = 0; bounded < kRuns && tried < 10 * kRuns; ++tried) {
    const NodeGraph& node = node_of(random.of(std::array{"dgx-h100", "dgx-a100"}), parts);
    Cluster cluster(node, static_cast<int>(random.pick(2, 12)), small_leaves(random, node, parts));
    CommunicatorConfig config;
    config.version = nccl_version_from_text(random.of(std::array{"2.21.5", "2.27.7", "2.30.7"}));
    const Communicator communicator = make_communicator(cluster, config);
    const std::int64_t count = (std::int64_t{1} << random.pick(8, 18)) + random.pick(0, 4096);
    Drawn drawn{std::move(cluster), decide_call(communicator, {Collective::alltoall, count}).run};
    break_something(random, drawn);
    const CollectiveRun& run = drawn.run;
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    const std::uint64_t chunks = job_size(drawn.cluster, parts.software, run, symmetry).simulated;
    const auto found = bound_run(drawn.cluster, parts.software, run, symmetry, 8 * chunks);
    if (!found) continue;
    ++bounded;
    narrow += found->bounds.half_width() < 0.03;
    CAPTURE(tried);
    CAPTURE(count);
    CAPTURE(drawn.cluster.nodes());
    CAPTURE(drawn.cluster.nodes_per_leaf());
    CAPTURE(to_text(run.version));
    CAPTURE(found->bounds.how);
    const Duration time =
        simulate(drawn.cluster, parts.software, run, symmetry, options(false)).time;
    CHECK(found->bounds.lower <= time);
    CHECK(time <= found->bounds.upper);
    CHECK(found->bounds.events > 8 * chunks);
    CHECK(found->result.rails_folded > 1);
  }
  CHECK(bounded == kRuns);
  CHECK(narrow >= kRuns / 10);
}
