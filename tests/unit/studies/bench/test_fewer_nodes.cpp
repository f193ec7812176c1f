// Goal: what is too large for its budget takes a time between what fewer nodes say. Method: seeded
// random calls of each rung, small enough to be simulated whole, too, with budgets that are not.

#include "models/studies/bench/fewer_nodes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "models/nccl/base/releases.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/shared/site.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using fabricast::testing::Dice;

namespace {

constexpr std::int64_t kKiB = 1024;

struct FewerAsked {
  Rung rung = Rung::chunk;
  Collective collective = Collective::alltoall;
  std::string algorithm;
  int nodes = 12, gpus_per_node = 2;
  std::int64_t bytes = 0;  ///< of sends and receives: for each peer
  NcclVersion version = kNccl2_27_7;
  std::string protocol = {};
  std::optional<Routing> routing = {};
};

/// A row's call, with all that it points to.
class Whole {
 public:
  Whole(const FewerAsked& asked, const PartsCatalogue& parts)
      : software_(parts.software),
        config_(config_of(asked)),
        topology_(topology_of(config_, parts)),
        request_(nodes_of(config_, asked.nodes, asked.routing)),
        site_(site_of(topology_, config_, request_)) {
    const Communicator communicator = site_.make();
    std::int64_t bytes = asked.bytes;
    if (asked.collective == Collective::alltoall) bytes *= communicator.ranks;
    row_ = *decided_row(config_, site_.cluster, software_, communicator, asked.collective, {bytes});
    std::vector<std::string> notes;
    network_ =
        plan_network(config_.network, site_.cluster, config_.environment, config_.version, notes);
  }

  std::optional<BoundedRun> extrapolated(std::uint64_t most) const {
    return extrapolated_run(
               site_.cluster, software_, run(), find_symmetry(site_.cluster, run()), network_, most,
               on_fewer_nodes(config_, software_, topology_, request_, site_.cluster, row_))
        .told;
  }
  /// What bounds say of it, narrowed by fewer nodes. Nothing where there are none.
  struct Narrowed {
    TimeBounds wide, narrow;
  };
  std::optional<Narrowed> narrowed() const {
    const Symmetry symmetry = find_symmetry(site_.cluster, run());
    const std::uint64_t most = job_size(site_.cluster, software_, run(), symmetry).simulated / 2;
    auto bounded = bound_run(site_.cluster, software_, run(), symmetry, most, network_);
    if (!bounded) return std::nullopt;
    const TimeBounds wide = bounded->bounds;
    narrow_by_fewer_nodes(
        *bounded, site_.cluster, software_, run(), most,
        on_fewer_nodes(config_, software_, topology_, request_, site_.cluster, row_));
    return Narrowed{wide, bounded->bounds};
  }
  /// On the chunk rung, by the hash of queue pairs: of one known before, of several handed over.
  bool has_hashed_ways() const { return network_.far_ways() == FarWays::hashed; }
  bool has_chosen_ways() const { return network_.rung == Rung::chunk && network_.carries(); }
  Duration time() const {
    SimulationOptions options;
    options.network = network_;
    return simulate(site_.cluster, software_, run(), find_symmetry(site_.cluster, run()), options)
        .time;
  }

 private:
  static BenchConfig config_of(const FewerAsked& asked) {
    BenchConfig out;
    out.topology = "dgx-h100";
    out.version = asked.version;
    out.gpus_per_node = asked.gpus_per_node;
    out.network.rung = asked.rung;
    out.network.routing = asked.routing;
    if (!asked.algorithm.empty()) out.environment.set("NCCL_ALGO", asked.algorithm);
    if (asked.routing == Routing::ecmp && asked.nodes % 2 == 0)
      out.environment.set("NCCL_IB_QPS_PER_CONNECTION", "2");
    if (!asked.protocol.empty()) out.environment.set("NCCL_PROTO", asked.protocol);
    return out;
  }
  const CollectiveRun& run() const { return row_.decided.run; }

  const SoftwareCosts& software_;
  BenchConfig config_;
  Topology topology_;
  NodesRequest request_;
  Site site_;
  BenchRow row_;
  NetworkPlan network_;
};

/// By the largest budget that does not suffice.
std::optional<BoundedRun> extrapolated(const Whole& whole) {
  std::optional<BoundedRun> out;
  for (std::uint64_t most = 100'000'000; !out && most > 100; most /= 3)
    out = whole.extrapolated(most);
  return out;
}

FewerAsked random_call(Dice& random) {
  FewerAsked out;
  out.rung = random.of(std::array{Rung::chunk, Rung::flow, Rung::packet});
  out.nodes = static_cast<int>(random.pick(16, 32));
  out.gpus_per_node = static_cast<int>(random.pick(1, 2));
  out.bytes = random.pick(16, 160) * kKiB;
  if (out.rung == Rung::chunk && random.pick(0, 2) == 0) out.routing = Routing::ecmp;
  if (out.rung == Rung::chunk || random.pick(0, 1) == 0) return out;
  out.collective = Collective::all_reduce;
  out.algorithm = random.pick(0, 1) == 0 ? "Tree" : "Ring";
  out.bytes = random.pick(4, 16) * 1024 * kKiB;
  return out;
}

}  // namespace

TEST_CASE("fewer nodes: the whole run's time lies between, in random runs") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(28);
  constexpr int kRuns = cases(100);
  int found = 0, narrow = 0, hashed = 0, chosen = 0;
  std::array<int, 3> by_rung{};
  for (int tried = 0; found < kRuns && tried < 5 * kRuns; ++tried) {
    const FewerAsked asked = random_call(random);
    const Whole whole(asked, parts);
    const std::optional<BoundedRun> guess = extrapolated(whole);
    if (!guess) continue;
    ++found;
    ++by_rung[static_cast<std::size_t>(asked.rung)];
    hashed += whole.has_hashed_ways();
    chosen += whole.has_chosen_ways();
    narrow += guess->bounds.half_width() < 0.15;
    const Duration time = whole.time();
    CAPTURE(tried);
    CAPTURE(static_cast<int>(asked.rung));
    CAPTURE(asked.algorithm);
    CAPTURE(whole.has_hashed_ways());
    CAPTURE(whole.has_chosen_ways());
    CAPTURE(asked.nodes);
    CAPTURE(asked.bytes);
    CAPTURE(guess->bounds.how);
    CHECK(guess->bounds.is_proven == guess->bounds.how.starts_with("one of "));  // rails
    CHECK(guess->bounds.lower <= time);
    CHECK(time <= guess->bounds.upper);
    CHECK(guess->result.time == guess->bounds.middle());
  }
  CHECK(found == kRuns);
  CHECK(narrow >= kRuns / 10);
  for (const int times : by_rung) CHECK(times >= kRuns / 10);
  CHECK(hashed + chosen >= kRuns / 20);
  for (const int times : {hashed, chosen}) CHECK(times >= kRuns / 50);
}

TEST_CASE("fewer nodes: bounds of an uneven ring narrowed by smaller ones, in random runs" *
          minutes_under_sanitizers()) {
  const PartsCatalogue parts = load_catalogue();
  Dice random(29);
  constexpr int kRuns = 30;
  int found = 0, odd = 0;
  double wide = 0, narrow = 0;
  for (int tried = 0; found < kRuns && tried < 20 * kRuns; ++tried) {
    FewerAsked asked;
    asked.collective = Collective::all_reduce;
    asked.algorithm = "Ring";
    asked.protocol = random.of(std::array{"LL", "LL128", "Simple"});
    asked.version = kNccl2_21_5;
    asked.gpus_per_node = random.of(std::array{1, 2, 4, 8});
    asked.nodes = asked.gpus_per_node == 8 ? 24 : std::max(128 / asked.gpus_per_node, 64);
    const bool is_odd = random.pick(0, 1) == 0;  // in their number, or leaves that are not full
    if (is_odd) asked.nodes += static_cast<int>(random.pick(1, 15));
    asked.bytes = random.pick(200, 4000) * asked.nodes * kKiB / 8;
    const Whole whole(asked, parts);
    const std::optional<Whole::Narrowed> bounds = whole.narrowed();
    if (!bounds || bounds->wide.half_width() < kWideBounds || bounds->narrow.is_proven) continue;
    ++found;
    odd += is_odd;
    wide += bounds->wide.half_width();
    narrow += bounds->narrow.half_width();
    const Duration time = whole.time();
    CAPTURE(asked.protocol);
    CAPTURE(asked.nodes);
    CAPTURE(asked.bytes);
    CAPTURE(bounds->narrow.how);
    CHECK(bounds->narrow.lower <= time);
    CHECK(time <= bounds->narrow.upper);
    CHECK(bounds->wide.lower <= bounds->narrow.lower);
    CHECK(bounds->narrow.upper <= bounds->wide.upper);
  }
  CHECK(found == kRuns);
  CHECK(odd >= kRuns / 5);
  CHECK(narrow < 0.5 * wide);
}

TEST_CASE("fewer nodes: within the budget, with faults and on few nodes there is nothing to say") {
  const PartsCatalogue parts = load_catalogue();
  const Whole small({Rung::packet, Collective::alltoall, "", 16, 1, 64 * kKiB}, parts);
  CHECK(!small.extrapolated(1'000'000'000));
  CHECK(extrapolated(small));
  const Whole few({Rung::packet, Collective::alltoall, "", 12, 1, 64 * kKiB}, parts);
  CHECK(!extrapolated(few));  // of 12 nodes 6 are half, and 3 too few
}
