// Goal: many queues in one stock of places. Method: hand-made pushes and pops, and random ones
// beside queues of the standard library.

#include "sim/base/queues.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <random>

using fabricast::Queues;

TEST_CASE("queues: each keeps its order, whatever the others do") {
  Queues<int> queues;
  CHECK(queues.empty(7));
  queues.push(7, 1);
  queues.push(2, 10);
  queues.push(7, 2);
  CHECK_FALSE(queues.empty(2));
  CHECK(queues.empty(3));
  CHECK(queues.front(7) == 1);
  CHECK(queues.at(7, 1) == 2);
  queues.at(7, 1) = 5;
  CHECK(queues.pop(7) == 1);
  CHECK(queues.pop(2) == 10);
  CHECK(queues.empty(2));
  queues.push(2, 11);  // takes a place that was left
  CHECK(queues.pop(7) == 5);
  CHECK(queues.empty(7));
  CHECK(queues.pop(2) == 11);
}

TEST_CASE("queues: as those of the standard library, in random order") {
  std::mt19937 random(5);
  Queues<unsigned> queues;
  std::array<std::deque<unsigned>, 9> likes;
  for (unsigned i = 0; i < 20'000; ++i) {
    const auto which = static_cast<std::uint32_t>(random() % likes.size());
    std::deque<unsigned>& like = likes[which];
    REQUIRE(queues.empty(which) == like.empty());
    if (like.empty() || random() % 2 == 0) {
      queues.push(which, i);
      like.push_back(i);
      continue;
    }
    const auto at = static_cast<std::size_t>(random() % like.size());
    REQUIRE(queues.at(which, at) == like[at]);
    REQUIRE(queues.pop(which) == like.front());
    like.pop_front();
  }
}
