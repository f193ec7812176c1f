// Goal: the event queue hands out events in the documented total order, whatever the insertion
// order. Method: hand-made cases, then seeded random schedules against a sorted multiset.

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/radix_heap.hpp"

using namespace fabricast;

TEST_CASE("events come in order of time, then of actor") {
  RadixHeap heap;
  heap.push({500}, 7);
  heap.push({20}, 9);
  heap.push({500}, 3);
  heap.push({20}, 1);
  std::vector<std::pair<std::int64_t, std::uint32_t>> seen;
  while (!heap.empty()) {
    const Event event = heap.pop();
    seen.emplace_back(event.at.ps, event.actor);
  }
  CHECK(seen ==
        std::vector<std::pair<std::int64_t, std::uint32_t>>{{20, 1}, {20, 9}, {500, 3}, {500, 7}});
}

TEST_CASE("what is scheduled for the running instant forms the next round") {
  RadixHeap heap;
  heap.push({5}, 4);
  heap.push({5}, 6);
  CHECK(heap.pop().actor == 4);
  heap.push({5}, 2);  // lower number, but a round later than actor 6
  CHECK(heap.pop().actor == 6);
  CHECK(heap.pop().actor == 2);
  CHECK(heap.empty());
}

TEST_CASE("who comes soon is told before, and that changes nothing") {
  std::mt19937_64 random(3);
  RadixHeap heap, silent;
  std::set<std::uint32_t> waiting, told;
  const auto push = [&](std::uint32_t actor) {
    const Instant at{heap.now().ps + static_cast<std::int64_t>(random() % 100'000)};
    heap.push(at, actor);
    silent.push(at, actor);
    waiting.insert(actor);
    told.erase(actor);
  };
  for (std::uint32_t actor = 0; actor < 500; ++actor) push(actor);
  int popped = 0, expected = 0;
  for (; !heap.empty(); ++popped) {
    const Event event = heap.pop([&](std::uint32_t actor, bool is_next) {
      CHECK(waiting.contains(actor));
      if (is_next) told.insert(actor);
    });
    const Event other = silent.pop();
    CHECK(std::pair(event.at, event.actor) == std::pair(other.at, other.actor));
    expected += told.contains(event.actor) ? 1 : 0;
    waiting.erase(event.actor);
    if (popped < 20'000) push(event.actor);
  }
  CHECK(popped == 20'500);
  CHECK(expected > popped / 2);
}

TEST_CASE("of a round everybody is told, deeper and deeper, before it acts") {
  for (const std::uint32_t count : {2u, 3u, 16u, 17u, 500u}) {
    RadixHeap heap;
    for (std::uint32_t actor = 0; actor < count; ++actor) heap.push({10}, count - 1 - actor);
    std::map<std::uint32_t, std::vector<unsigned>> told;
    for (std::uint32_t actor = 0; actor < count; ++actor) {
      const Event event =
          heap.pop([&](std::uint32_t whom, unsigned depth) { told[whom].push_back(depth); });
      CHECK(event.actor == actor);
      const std::vector<unsigned>& depths = told[actor];
      REQUIRE(depths.size() >= 4);
      CHECK(std::vector<unsigned>(depths.end() - 4, depths.end()) ==
            std::vector<unsigned>{0, 1, 2, 3});
      told.erase(actor);
    }
    CHECK(told.empty());
  }
}

TEST_CASE("a round is in order of actors, however many they are and however far apart") {
  // Rounds that are ranked, marked bit by bit and sorted by digits; actors from 10 on and up to the
  // last number there is.
  for (const std::uint32_t count : {2u, 63u, 64u, 65u, 300u, 1000u}) {
    for (const std::uint32_t step : {1u, 100u, 2'003u, 65'537u, UINT32_MAX / 1000 - 1}) {
      for (const bool to_end : {false, true}) {
        const std::uint32_t first = to_end ? UINT32_MAX - (count - 1) * step : 10;
        RadixHeap heap;
        for (std::uint32_t i = 0; i < count; ++i)  // 7 shares no factor with any count but 63
          heap.push({50}, first + (count == 63 ? i * 5 : i * 7) % count * step);
        for (std::uint32_t i = 0; i < count; ++i) REQUIRE(heap.pop().actor == first + i * step);
        CHECK(heap.empty());
      }
    }
  }
}

TEST_CASE("a round at a time comes what comes one by one") {
  // Actors that go on at the running instant, at few others or at any: 2,000 events in all, of a
  // round at most `most` at a time. Who is told of waits.
  for (const std::uint64_t most : {1u, 3u, 1000u}) {
    std::mt19937_64 random(most);
    RadixHeap rounds, single;
    std::set<std::uint32_t> waiting;
    const auto push = [&](std::uint32_t actor) {
      const std::array<std::int64_t, 3> ahead = {0, static_cast<std::int64_t>(random() % 4) * 50,
                                                 static_cast<std::int64_t>(random() % 100'000)};
      const Instant at{rounds.now().ps + ahead[random() % ahead.size()]};
      for (RadixHeap* const heap : {&rounds, &single}) heap->push(at, actor);
      waiting.insert(actor);
    };
    for (std::uint32_t actor = 0; actor < 100; ++actor) push(actor);
    const auto soon = [&](std::uint32_t actor, unsigned) { CHECK(waiting.contains(actor)); };
    for (int popped = 0; !rounds.empty();) {
      std::uint64_t count = 0;
      std::uint32_t one_by_one = 0;
      const std::uint32_t last = rounds.pop_round(most, soon, [&](std::uint32_t actor) {
        const Event event = single.pop();
        one_by_one = event.actor;
        CHECK(event.actor == actor);
        CHECK(event.at == rounds.now());
        waiting.erase(actor);
        if (++popped <= 1900) push(actor);
        ++count;
      });
      CHECK(last == one_by_one);
      CHECK(count <= most);
    }
    CHECK(single.empty());
  }
}

TEST_CASE("a queue that has been moved goes on in the middle of a round") {
  RadixHeap heap;
  for (const std::uint32_t actor : {3u, 1u, 2u}) heap.push({10}, actor);
  heap.push({20}, 0);
  CHECK(heap.pop().actor == 1);
  RadixHeap moved = std::move(heap);
  CHECK(moved.pop().actor == 2);
  CHECK(!moved.round_ended());
  CHECK(moved.pop().actor == 3);
  CHECK(moved.between_instants());
  CHECK(moved.pop().at.ps == 20);
  CHECK(moved.empty());
}

TEST_CASE("what is scheduled among the next events keeps the order, however many there are") {
  // Many events between the running instant and the next one, in descending and in mixed order,
  // several for each time: more than the queue keeps sorted. And more while they are popped.
  for (const int count : {10, 60, 90, 400, 5000}) {
    RadixHeap heap;
    std::set<std::pair<std::int64_t, std::uint32_t>> reference;
    std::uint32_t actors = 0;
    const auto push = [&](std::int64_t at) {
      heap.push({at}, actors);
      reference.emplace(at, actors++);
    };
    push(1'000'000);
    push(1'040'000);
    const auto pop = [&] {
      REQUIRE(heap.earliest().ps == reference.begin()->first);
      const Event event = heap.pop();
      REQUIRE(std::pair(event.at.ps, event.actor) == *reference.begin());
      reference.erase(reference.begin());
    };
    pop();
    for (int i = 0; i < count; ++i) {
      const std::int64_t down = 1'000'000 + 3 * (count - i), mixed = 1'000'001 + i * 7919 % 30'000;
      for (const std::int64_t at : {down, mixed, down}) push(at);
    }
    for (int i = 0; !heap.empty(); ++i) {
      pop();
      if (i < 2 * count) push(heap.now().ps + 1 + i * 31 % 500);
    }
    CHECK(reference.empty());
  }
}

TEST_CASE("a random schedule pops like a sorted set") {
  // The reference holds (time, round, actor). Rounds: an event pushed for the running instant gets
  // the running round + 1, any other one round 0 of its instant.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    RadixHeap heap;
    std::set<std::tuple<std::int64_t, std::uint64_t, std::uint32_t>> reference;
    std::uint32_t next_actor = 0;
    std::int64_t now = 0;
    std::uint64_t round = 0;
    auto push = [&](std::int64_t at, std::uint64_t in_round) {
      const std::uint32_t actor = (next_actor++ * 7919u) % 1'000'003u;  // not in insertion order
      heap.push({at}, actor);
      reference.emplace(at, in_round, actor);
    };
    // More than 256 at one instant: the byte-wise sort of large rounds is used as well.
    for (int i = 0; i < 600; ++i) push(1000, 0);
    for (int i = 0; i < 400; ++i)
      push(static_cast<std::int64_t>(random() >> (1 + random() % 60)), 0);
    for (int step = 0; !heap.empty(); ++step) {
      const Event event = heap.pop();
      const auto [at, in_round, actor] = *reference.begin();
      reference.erase(reference.begin());
      REQUIRE(event.at.ps == at);
      REQUIRE(event.actor == actor);
      if (at != now) round = 0;
      now = at;
      round = in_round;
      if (step < 3000) {
        const auto ahead = static_cast<std::int64_t>(random() % 3 == 0 ? 0 : random() % 100'000);
        push(now + ahead, ahead == 0 ? round + 1 : 0);
      }
    }
    CHECK(reference.empty());
  }
}
