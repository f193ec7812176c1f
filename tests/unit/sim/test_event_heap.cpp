// Goal: the queues of the network rungs give events back in the order of their time and of when
// they came, and wait lists in the order in which they came.
// Method: random pushes and pops beside a multimap and a deque.

#include "sim/base/event_heap.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>

#include "sim/base/fifo.hpp"
#include "sim/base/random.hpp"

using namespace fabricast;

TEST_CASE("events of one time come in the order in which they were scheduled") {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    EventHeap<int> heap;
    std::multimap<std::int64_t, int> wanted;  // equal keys stay in order of insertion
    std::int64_t now = 0;
    int number = 0;
    for (int step = 0; step < 5'000; ++step) {
      for (std::uint32_t i = random.below(3); i > 0; --i) {
        const bool soon = random.below(4) == 0;
        const std::int64_t at = now + (soon ? 0 : random.below(1u << (1 + random.below(31))));
        heap.push({at}, number);
        wanted.emplace(at, number++);
      }
      REQUIRE(heap.size() == wanted.size());
      REQUIRE(heap.empty() == wanted.empty());
      if (wanted.empty()) continue;
      REQUIRE(heap.earliest().ps == wanted.begin()->first);
      if (random.below(5) == 0) continue;  // looks alone: earlier ones may still come
      now = wanted.begin()->first;
      REQUIRE(heap.pop() == wanted.begin()->second);
      wanted.erase(wanted.begin());
    }
  }
}

TEST_CASE("a wait list in one vector") {
  Random random(2);
  Fifo<int> list;
  std::deque<int> wanted;
  for (int step = 0; step < 20'000; ++step) {
    if (wanted.empty() || random.below(200) < 100 + (step < 10'000 ? 5u : 0u)) {
      list.push(step);
      wanted.push_back(step);
    } else {
      REQUIRE(list.pop() == wanted.front());
      wanted.pop_front();
    }
    REQUIRE(list.size() == wanted.size());
    if (wanted.empty()) continue;
    REQUIRE(list.front() == wanted.front());
    REQUIRE(list.back() == wanted.back());
    const auto i = random.below(static_cast<std::uint32_t>(wanted.size()));
    REQUIRE(list[i] == wanted[i]);
  }
}
