// Goal: rates are max-min fair after any sequence of changes, though only what a change reaches is
// computed again.
// Method: small systems by hand; random systems against the definition: every flow has a limit (its
// cap, or a full link on which nobody of its priority gets more per weight), no link is overbooked.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/fluid/max_min.hpp"

using namespace fabricast;

namespace {

struct Known {
  std::uint32_t id;
  std::vector<std::uint32_t> links;
  std::uint32_t weight;
  std::uint8_t priority;
  Bandwidth cap;
};

/// Rates are rounded down to 2^-16 B/s per unit of weight: what a link may be short of full.
constexpr std::int64_t kSlack = 4'096;

struct Checker {
  const MaxMin& shares;
  const std::vector<Bandwidth>& capacity;
  const std::vector<Known>& flows;

  std::int64_t load(std::uint32_t link, int priority_min) const {
    std::int64_t sum = 0;
    for (const Known& flow : flows)
      if (flow.priority >= priority_min)
        sum += shares.rate(flow.id).count * std::count(flow.links.begin(), flow.links.end(), link);
    return sum;
  }

  /// Full with flows of its own priority and above, and nobody of its own gets more per weight.
  bool limits(std::uint32_t link, const Known& flow) const {
    const std::int64_t full = FineRate::of(capacity[link]).count - kSlack;
    if (load(link, flow.priority) < full) return false;
    const std::int64_t mine = shares.rate(flow.id).count / flow.weight;
    return std::none_of(flows.begin(), flows.end(), [&](const Known& other) {
      const bool there = std::count(other.links.begin(), other.links.end(), link) > 0;
      return there && other.priority == flow.priority &&
             shares.rate(other.id).count / other.weight > mine + kSlack;
    });
  }

  void check() const {
    for (std::uint32_t link = 0; link < capacity.size(); ++link) {
      CHECK(load(link, 0) <= FineRate::of(capacity[link]).count);
      CHECK(load(link, 0) == shares.load(link).count);
    }
    for (const Known& flow : flows) {
      const bool capped = flow.cap.bytes_per_s > 0 &&
                          shares.rate(flow.id).count >= FineRate::of(flow.cap).count - kSlack;
      const bool limited = std::any_of(flow.links.begin(), flow.links.end(),
                                       [&](std::uint32_t link) { return limits(link, flow); });
      CHECK((capped || limited));
    }
  }
};

}  // namespace

TEST_CASE("weights share in proportion, a cap leaves the rest to others") {
  MaxMin shares;
  const std::uint32_t link = shares.add_link({600});
  const std::uint32_t path[] = {link};
  const std::uint32_t light = shares.add({path, 1, 0, {}});
  const std::uint32_t heavy = shares.add({path, 3, 0, {}});
  const std::uint32_t capped = shares.add({path, 2, 0, {60}});
  shares.solve();
  CHECK(shares.rate(capped).whole().bytes_per_s == 60);
  CHECK(shares.rate(light).whole().bytes_per_s == 135);  // (600 - 60) / 4
  CHECK(shares.rate(heavy).whole().bytes_per_s == 405);
}

TEST_CASE("a lower priority gets what the higher leaves, down to nothing") {
  MaxMin shares;
  const std::uint32_t link = shares.add_link({100});
  const std::uint32_t path[] = {link};
  const std::uint32_t low = shares.add({path, 1, 0, {}});
  const std::uint32_t high = shares.add({path, 1, 1, {70}});
  shares.solve();
  CHECK(shares.rate(low).whole().bytes_per_s == 30);
  const std::uint32_t second = shares.add({path, 1, 1, {70}});
  shares.solve();
  CHECK(shares.rate(low).whole().bytes_per_s == 0);
  CHECK(shares.rate(high).whole().bytes_per_s == 50);
  shares.remove(high);
  shares.remove(second);
  shares.solve();
  CHECK(shares.rate(low).whole().bytes_per_s == 100);
}

TEST_CASE("a change computes only the flows it reaches") {
  // 1000 pairs of flows, each pair on a link of its own, all over one wide link that limits nobody.
  MaxMin shares;
  const std::uint32_t wide = shares.add_link({1'000'000});
  std::vector<std::uint32_t> flows;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    const std::uint32_t path[] = {shares.add_link({100}), wide};
    for (int k = 0; k < 2; ++k) flows.push_back(shares.add({path, 1, 0, {}}));
  }
  shares.solve();
  const std::uint64_t before = shares.visits();
  shares.remove(flows[10]);
  const auto changes = shares.solve();
  CHECK(changes.size() == 1);
  CHECK(shares.visits() - before == 1);
  CHECK(shares.rate(flows[11]).whole().bytes_per_s == 100);
  // Once the wide link is too small, everybody is reached: 1999 flows share 49975.
  shares.set_capacity(wide, {49'975});
  shares.solve();
  CHECK(shares.rate(flows[0]).whole().bytes_per_s == 25);
  CHECK(shares.rate(flows[11]).whole().bytes_per_s == 25);
}

TEST_CASE("random systems stay max-min fair under random changes") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    MaxMin shares;
    std::vector<Bandwidth> capacity;
    for (int i = 0; i < 12; ++i) {
      capacity.push_back({1'000 + random.below(100'000)});
      shares.add_link(capacity.back());
    }
    std::vector<Known> flows;
    for (int step = 0; step < 60; ++step) {
      const std::uint32_t what = random.below(10);
      if (what < 6 || flows.empty()) {
        Known flow{};
        for (std::uint32_t i = 0; i <= random.below(3); ++i) flow.links.push_back(random.below(12));
        flow.weight = 1 + random.below(4);
        flow.priority = static_cast<std::uint8_t>(random.below(2));
        if (random.below(3) == 0) flow.cap = {1 + random.below(20'000)};
        flow.id = shares.add({flow.links, flow.weight, flow.priority, flow.cap});
        flows.push_back(flow);
      } else if (what < 9) {
        const std::uint32_t gone = random.below(static_cast<std::uint32_t>(flows.size()));
        shares.remove(flows[gone].id);
        flows.erase(flows.begin() + gone);
      } else {
        const std::uint32_t link = random.below(12);
        capacity[link] = {random.below(100'000)};
        shares.set_capacity(link, capacity[link]);
      }
      if (random.below(3) == 0) continue;  // several changes, one solve
      shares.solve();
      Checker{shares, capacity, flows}.check();
    }
  }
}
