// Goal: who books a link of several lanes long before his bytes come leaves the time until then to
// others.
// Method: cases derived by hand; a model that books picosecond by picosecond; a machine of three.

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "sim/links/idle_times.hpp"
#include "sim/machines/executor.hpp"
#include "tests/unit/sim/machines/chain.hpp"

using namespace fabricast;
using fabricast::testing::Chain;

TEST_CASE("idle times: what comes earlier takes the time before what was booked ahead") {
  IdleTimes idle;
  CHECK(idle.fill(100, 10, 0) == 110);   // booked 100 to 110, idle 0 to 100
  CHECK(idle.fill(20, 30, 110) == 50);   // in the midst of it
  CHECK(idle.fill(10, 15, 110) == 55);   // 10 to 20, then 50 to 55
  CHECK(idle.fill(60, 50, 110) == 120);  // 60 to 100, then 110 to 120
  CHECK(idle.fill(0, 20, 120) == 125);   // 0 to 10 and 55 to 60 were left, then 120 to 125
}

TEST_CASE("idle times: as if each picosecond were booked for itself") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    IdleTimes idle;
    std::vector<bool> taken(4000);
    std::int64_t free = 0;
    for (int booking = 0; booking < 20; ++booking) {
      const auto head = static_cast<std::int64_t>(random() % 1000);
      const auto busy = static_cast<std::int64_t>(random() % 50 + 1);
      CAPTURE(round);
      CAPTURE(booking);
      std::int64_t at = head;
      for (std::int64_t left = busy; left > 0; ++at) {
        if (taken[static_cast<std::size_t>(at)]) continue;
        taken[static_cast<std::size_t>(at)] = true;
        --left;
      }
      const std::int64_t done = idle.fill(head, busy, free);
      REQUIRE(done == at);
      free = std::max(free, done);
    }
    std::int64_t gaps = 0, left = 0;
    for (const IdleTimes::Gap& gap : idle.since(0)) gaps += gap.to - gap.from;
    for (std::int64_t at = 0; at < free; ++at) left += taken[static_cast<std::size_t>(at)] ? 0 : 1;
    CHECK(gaps == left);
  }
}

TEST_CASE("a link of several lanes: a thread that is busy first holds up nobody else") {
  // A thread takes 100 us to post 1 MB, then they take 5 us of 200 GB/s. A chain of three without
  // threads has taken 20 us for 1 MB when it comes to the same link: it is through after 5 us. On a
  // link of one lane it waits for what is booked from 100 to 105 us.
  for (const std::int64_t lanes : {2, 1}) {
    CAPTURE(lanes);
    Chain two, three;
    two.length = 2;
    three.length = 3;
    two.count = three.count = 1;
    two.chunk = three.chunk = {1'000'000};
    Executor<PlainStamp> executor;
    const std::uint32_t kind = executor.add_worker_class({{0}, {}});
    for (std::uint32_t i = 0; i < 2; ++i) executor.add_worker(kind, two, {0, i});
    for (std::uint32_t i = 0; i < 3; ++i) executor.add_worker(kind, three, {0, i});
    const std::uint32_t link = executor.add_link({{200'000'000'000}, {}, lanes});
    const std::uint32_t first = executor.add_link({{50'000'000'000}, {}});
    RelayClass posts;
    posts.cost.post = microseconds(100);
    const std::uint32_t relay =
        executor.add_relay(executor.add_relay_class(posts), executor.add_thread(), 1);
    executor.connect({0, relay, 4, {}, {}, {}, {}, {}});
    executor.connect({relay, 1, 4, {&link, 1}, {}, {}, {}, {}});
    executor.connect({2, 3, 4, {&first, 1}, {}, {}, {}, {}});
    executor.connect({3, 4, 4, {&link, 1}, {}, {}, {}, {}});
    executor.run();
    CHECK(executor.finished(1).ps == microseconds(105).ps);
    CHECK(executor.finished(4).ps == microseconds(lanes == 2 ? 25 : 110).ps);
  }
}
