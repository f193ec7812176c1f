// Goal: NVLink domains of several hosts fold as nodes do: rings and exchanges over racks are the
// full run. Method: as test_fold.cpp, with domains of 9 to 18 trays, whose hosts stand on leaves of
// their own, so that a domain may lie below two.

#include <algorithm>
#include <set>

#include "models/nccl/communicator/communicator.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

Drawn random_racks(Dice& random, const PartsCatalogue& parts) {
  const int hosts = random.of(std::array{20, 24, 30, 36, 54});
  Cluster cluster = load_cluster({"gb200-nvl72", hosts, "", true, 1}, parts);
  if (random.pick(0, 3) > 0) {
    FabricConfig fabric = cluster.fabric();
    fabric.leaf_down = random.of(std::array{2, 3, 6, 9, 10, 12, 18, 20, 36});
    cluster = Cluster(cluster.node(), cluster.nodes(), fabric);
  }
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  config.environment.set("NCCL_ALGO", "Ring");
  config.environment.set("NCCL_PROTO", to_text(random.of(kAllProtocols)));
  config.environment.set("NCCL_MAX_NCHANNELS", "4");
  const Communicator communicator = make_communicator(cluster, config);
  const Collective collective =
      random.of(std::array{Collective::all_gather, Collective::reduce_scatter,
                           Collective::all_reduce, Collective::alltoall});
  Call call{collective, random.pick(1, 4) * 120, 4};
  if (collective == Collective::all_reduce) call.count *= 40 * communicator.ranks;
  return {std::move(cluster), decide_call(communicator, call).run};
}

}  // namespace

TEST_CASE("racks of an NVLink domain each: folded = full, to the picosecond") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(31);
  constexpr int kRuns = cases(30);
  int folded = 0, exchanges = 0;
  std::set<std::string> refused;
  for (int tried = 0; folded < kRuns && tried < 20 * kRuns; ++tried) {
    const Drawn drawn = random_racks(random, parts);
    const CollectiveRun& run = drawn.run;
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    if (symmetry.copies() == 1) {
      refused.insert(symmetry.why_not);
      continue;
    }
    ++folded;
    exchanges += !run.has_algorithm();
    CAPTURE(tried);
    CAPTURE(drawn.cluster.hosts());
    CAPTURE(drawn.cluster.fabric_summary());
    CAPTURE(to_text(run.collective));
    CAPTURE(to_text(run.protocol));
    CAPTURE(symmetry.nodes());
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false)),
                           got = simulate(drawn.cluster, parts.software, run, options(true));
    check_equal(got, full);
    CHECK(got.nodes_simulated == symmetry.nodes());
    check_links(drawn, got, full);
  }
  CHECK(folded == kRuns);
  CHECK(exchanges >= kRuns / 10);
  CHECK(std::ranges::none_of(
      refused, [](const std::string& why) { return why.find("domains") != std::string::npos; }));
}
