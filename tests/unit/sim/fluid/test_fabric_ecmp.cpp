// Goal: hashed ways collide as often as drawing lots does (vectors T-30 .. T-33), by the exact
// distribution, and by the hash itself on the flow rung.
// Method: vectors by their ids; draws with 4000 different sets of queue pairs, compared within four
// standard errors or so.

#include "sim/links/ecmp.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "models/hardware/cluster/ecmp_odds.hpp"
#include "sim/fluid/flow_network.hpp"
#include "tests/unit/sim/fabric_vectors.hpp"

using namespace fabricast;

namespace {

constexpr int kDraws = 4'000;

struct Draw {
  double fullest = 0, rate = 0, idle = 0;
};

/// Mean over draws: `flows` connections of `pairs` queue pairs each, hashed onto `ways`, whose
/// fluids share them; loads in flows.
Draw draw(std::uint32_t flows, std::uint32_t ways, std::uint32_t pairs, int draws) {
  Draw mean;
  for (int i = 0; i < draws; ++i) {
    MaxMin shares;
    for (std::uint32_t way = 0; way < ways; ++way) shares.add_link({1'000'000});
    std::vector<std::uint32_t> load(ways, 0);
    double rate = 0;
    std::vector<std::uint32_t> ids;
    for (std::uint32_t flow = 0; flow < flows; ++flow) {
      for (std::uint32_t pair = 0; pair < pairs; ++pair) {
        const FlowKey key{flow, 1'000 + flow, static_cast<std::uint32_t>(i) * pairs + pair};
        const std::uint32_t way[] = {ecmp_choice(key, 7, ways)};
        ++load[way[0]];
        ids.push_back(shares.add({way, 1, 0, {1'000'000 / pairs}}));
      }
    }
    shares.solve();
    for (const std::uint32_t id : ids) rate += static_cast<double>(shares.rate(id).count);
    mean.rate += rate / (65'536e6 * flows);
    mean.fullest += static_cast<double>(*std::max_element(load.begin(), load.end())) / pairs;
    mean.idle += static_cast<double>(std::count(load.begin(), load.end(), 0)) / ways;
  }
  return {mean.fullest / draws, mean.rate / draws, mean.idle / draws};
}

}  // namespace

TEST_CASE("T-30: flows thrown on equal uplinks") {
  const struct {
    int n, k;
    double no_collision, fullest, slowdown, rate, idle;
  } rows[] = {{2, 2, 0.5, 1.5, 1.5, 0.75, 0.25},
              {4, 4, 0.09375, 2.125, 2.125, 0.6836, 0.3164},
              {8, 4, 0, 3.5381, 1.769, 0.4499, 0.1001},
              {8, 8, 0.002403, 2.5972, 2.597, 0.6564, 0.3436},
              {8, 16, 0.1208, 2.0629, 2.063, 0.8066, 0.5967},
              {16, 8, 0, 4.2014, 2.101, 0.4410, 0.1181},
              {16, 16, 1.13e-6, 3.0782, 3.078, 0.6439, 0.3561},
              {32, 16, 0, 4.8304, 2.415, 0.4366, 0.1268},
              {32, 32, 1.8e-13, 3.5329, 3.533, 0.6379, 0.3621},
              {64, 32, 0, 5.4148, 2.707, 0.4345, 0.1311}};
  for (const auto& row : rows) {
    const EcmpOdds odds = ecmp_odds(row.n, row.k);
    const auto check = [&](const char* what, double computed, double expected, double tolerance) {
      check_vector("T-30", fmt::format("n={} k={}, {}", row.n, row.k, what), "closed form",
                   computed, expected, tolerance);
    };
    check("no collision", odds.no_collision, row.no_collision,
          row.no_collision == 0 ? 1e-15 : 0.01);
    check("fullest", odds.fullest, row.fullest, 5e-5);
    check("slowdown", odds.slowdown, row.slowdown, 5e-4);
    check("mean flow rate", odds.mean_flow_rate, row.rate, 2e-4);
    check("idle uplinks", odds.idle_ways, row.idle, 4e-4);
    if (row.n > 16) continue;
    const Draw drawn =
        draw(static_cast<std::uint32_t>(row.n), static_cast<std::uint32_t>(row.k), 1, kDraws);
    check_vector("T-30", fmt::format("n={} k={}, fullest", row.n, row.k), "flow, hashed",
                 drawn.fullest, row.fullest, 0.02);
    check_vector("T-30", fmt::format("n={} k={}, mean flow rate", row.n, row.k), "flow, hashed",
                 drawn.rate, row.rate, 0.02);
    check_vector("T-30", fmt::format("n={} k={}, idle uplinks", row.n, row.k), "flow, hashed",
                 drawn.idle, row.idle, 0.04);
  }
}

TEST_CASE("T-30: the whole distribution of the fullest of 8 uplinks") {
  const double expected[] = {0, 0.0024, 0.4984, 0.4094, 0.0800, 0.0092, 0.0007};
  const std::vector<double> odds = fullest_way_odds(8, 8);
  double sum = 0;
  for (const double p : odds) sum += p;
  CHECK(sum == doctest::Approx(1));
  for (std::size_t m = 1; m <= 6; ++m)
    check_vector("T-30", fmt::format("n=k=8, P(max={})", m), "closed form", odds[m], expected[m],
                 0.07);
}

TEST_CASE("T-31: more queue pairs per connection") {
  for (const auto& [pairs, slowdown] :
       {std::pair(1, 2.597), std::pair(2, 2.101), std::pair(4, 1.762), std::pair(8, 1.529),
        std::pair(16, 1.369), std::pair(32, 1.259)}) {
    const EcmpOdds odds = ecmp_odds(8 * pairs, 8);
    check_vector("T-31", fmt::format("{} QPs, 8 flows on 8 uplinks, slowdown", pairs),
                 "closed form", odds.slowdown, slowdown, 5e-4);
    if (pairs > 8) continue;
    const Draw drawn = draw(8, 8, static_cast<std::uint32_t>(pairs), kDraws / 2);
    check_vector("T-31", fmt::format("{} QPs, 8 flows on 8 uplinks, slowdown", pairs),
                 "flow, hashed", drawn.fullest, slowdown, 0.02);
  }
}

TEST_CASE("T-32: uplinks twice as fast as downlinks") {
  for (const auto& [n, slowdown] : {std::pair(8, 1.2998), std::pair(16, 1.5391)})
    check_vector("T-32", fmt::format("n=k={}, slowdown", n), "closed form",
                 slowdown_on_faster_ways(n, n, 2), slowdown, 1e-4);
}

TEST_CASE("T-33: tiers that hash alike leave the next no choice") {
  std::set<std::uint32_t> alike, own;
  for (std::uint32_t flow = 0; flow < 10'000; ++flow) {
    const FlowKey key{flow, flow + 1, flow};
    if (ecmp_choice(key, 1, 8) != 3) continue;  // what leaf 3 sends to one spine
    alike.insert(ecmp_choice(key, 1, 8));
    own.insert(ecmp_choice(key, 2, 8));
  }
  check_vector("T-33", "same seed, share of a spine's ports used", "hash",
               static_cast<double>(alike.size()) / 8, 0.125, 1e-12);
  check_vector("T-33", "own seed per tier, share of a spine's ports used", "hash",
               static_cast<double>(own.size()) / 8, 1, 1e-12);
}
