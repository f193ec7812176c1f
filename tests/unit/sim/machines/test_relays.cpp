// Goal: what relays and their threads add to the timing rule of executor.hpp, to the picosecond.
// Method: chains small enough to be derived by hand.

#include <doctest/doctest.h>

#include <utility>

#include "sim/machines/executor.hpp"
#include "tests/unit/sim/machines/chain.hpp"

using namespace fabricast;
using fabricast::testing::Chain;

namespace {

/// Two senders with a chunk each, whose relays have one thread: when each receiver is done, in ps.
std::pair<std::int64_t, std::int64_t> two_on_one_thread(const WorkerClass& workers,
                                                        const RelayClass& relays, Bytes chunk) {
  Chain program;
  program.length = 2;
  program.count = 1;
  program.chunk = chunk;
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class(workers);
  for (std::uint32_t i = 0; i < 4; ++i) executor.add_worker(kind, program, {0, i % 2});
  const std::uint32_t posts = executor.add_relay_class(relays);
  const std::uint32_t thread = executor.add_thread();
  for (const std::uint32_t sender : {0u, 2u}) {
    const std::uint32_t relay = executor.add_relay(posts, thread, 1);
    executor.connect({sender, relay, 8, {}, {}, {}, {}, {}});
    executor.connect({relay, sender + 1, 8, {}, {}, {}, {}, {}});
  }
  executor.run();
  return {executor.finished(1).ps, executor.finished(3).ps};
}

}  // namespace

TEST_CASE("lines: a relay hands on slices as a whole") {
  // Worker, relay, worker: the relay waits for all 3000 B, the receiver behind it for the first.
  const auto makespan = [](bool by_line) {
    Executor<PlainStamp> executor;
    Chain program;
    program.length = 2;
    program.count = 1;
    program.chunk = {3000};
    const std::uint32_t kind = executor.add_worker_class({{1'000'000'000}, {}, {}});
    executor.add_worker(kind, program, {0, 0});
    executor.add_worker(kind, program, {0, 1});
    const std::uint32_t relay =
        executor.add_relay(executor.add_relay_class({}), executor.add_thread(), 1);
    const std::uint32_t link = executor.add_link({{2'000'000'000}, {}});
    ConnectionSpec in{0, relay, 4, {}, nanoseconds(100), {}, {}, {}};
    ConnectionSpec out{relay, 1, 4, {&link, 1}, {}, {}, {}, {}};
    in.by_line = out.by_line = by_line;
    executor.connect(in);
    executor.connect(out);
    executor.run();
    return executor.makespan().ps / 1000;
  };
  // 3100 to fill the slot, 1500 on the link, and 3000 to take it: from 3100 on by lines.
  CHECK(makespan(false) == 3100 + 1500 + 3000);
  CHECK(makespan(true) == 3100 + 3000);
}

TEST_CASE("relay: post, cut through, acknowledge") {
  // Sender -> relay (flag 1 us) -> receiver over two links of 100 and 50 GB/s, 1 us latency each.
  // Slice of 1 MB, post 2 us. Cut-through: the first byte enters link 2 one latency after link 1,
  // so it is there for 20 us from 1 + 2 + 1 us; arrival at 24 + 1 us. Ack 2 us and flag 1 us later
  // the sender's only slot is free: slices start every 28 us.
  Chain program;
  program.length = 2;
  program.count = 3;
  program.chunk = {1'000'000};
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  executor.add_worker(kind, program, {0, 0});
  executor.add_worker(kind, program, {0, 1});
  const std::uint32_t relay = executor.add_relay(executor.add_relay_class({{microseconds(2)}, {}}),
                                                 executor.add_thread(), 1);
  const std::uint32_t path[] = {executor.add_link({{100'000'000'000}, microseconds(1)}),
                                executor.add_link({{50'000'000'000}, microseconds(1)})};
  executor.connect({0, relay, 1, {}, {}, microseconds(1), microseconds(1), {}});
  executor.connect({relay, 1, 8, path, {}, {}, {}, microseconds(2)});
  executor.run();
  CHECK(executor.finished(1).ps == microseconds(2 * 28 + 25).ps);
  CHECK(executor.events() == 3 * 3);
}

TEST_CASE("relays of one thread post one after another, reading wire bytes at the check rate") {
  // Two slices ready at once, post 2 us each plus 16 B per 8 B at 4 GB/s: 8,000 B -> 16,000 B -> 4
  // us.
  const RelayClass posts{{microseconds(2), {4'000'000'000}}, {8, 16}};
  CHECK(two_on_one_thread({{0}, {8, 16}}, posts, {8'000}) ==
        std::pair{microseconds(6).ps, microseconds(12).ps});
}

TEST_CASE("relay: after a large message its thread is busy with one that arrived") {
  // Two senders at the same time, whose messages share a thread. A post takes 2 us; above 4,000 B
  // the thread goes on for 3 us more, while the message is on its way.
  PostCost cost{microseconds(2)};
  cost.large = {4'000};
  cost.large_receipt = microseconds(3);
  const auto finished = [&](Bytes chunk) {
    return two_on_one_thread({{0}, {}}, {cost, {}}, chunk);
  };
  CHECK(finished({4'000}) == std::pair{microseconds(2).ps, microseconds(4).ps});
  CHECK(finished({4'001}) == std::pair{microseconds(2).ps, microseconds(2 + 3 + 2).ps});
}

TEST_CASE("relay: after a message that is copied its thread is busy for a while") {
  // As above, 5 us above 2,000 B, but not where the message is large.
  PostCost cost{microseconds(2)};
  cost.copied = {2'000};
  cost.copied_receipt = microseconds(5);
  cost.large = {4'000};
  const auto second = [&](Bytes chunk) {
    return two_on_one_thread({{0}, {}}, {cost, {}}, chunk).second;
  };
  CHECK(second({2'000}) == microseconds(4).ps);
  CHECK(second({2'001}) == microseconds(2 + 5 + 2).ps);
  CHECK(second({4'001}) == microseconds(4).ps);
}

TEST_CASE("relays: one hands on to another, which has a thread and slots of its own") {
  // Sender, relay of 2 us, relay of 3 us, receiver. The second is the narrow place: three slices
  // leave it at 5, 8 and 11 us. With one slot there the first waits for it.
  const auto finished = [](std::uint32_t slots, std::int64_t first_us, std::int64_t ahead_us) {
    Chain program;
    program.length = 2;
    program.count = 3;
    program.chunk = {8};
    Executor<PlainStamp> executor;
    const std::uint32_t kind = executor.add_worker_class({{0}, {}});
    for (std::uint32_t i = 0; i < 2; ++i) executor.add_worker(kind, program, {0, i});
    const auto relay = [&](std::int64_t us, std::int64_t ahead) {
      PostCost cost{microseconds(us)};
      cost.ahead = microseconds(ahead);
      return executor.add_relay(executor.add_relay_class({cost, {}}), executor.add_thread(), 1);
    };
    const std::uint32_t first = relay(first_us, 0), second = relay(3, ahead_us);
    executor.connect({0, first, 8, {}, {}, {}, {}, {}});
    executor.connect({first, second, slots, {}, {}, {}, {}, {}});
    executor.connect({second, 1, 8, {}, {}, {}, {}, {}});
    executor.run();
    return executor.finished(1).ps;
  };
  CHECK(finished(8, 2, 0) == microseconds(2 + 3 + 3 + 3).ps);
  CHECK(finished(1, 2, 0) == microseconds((2 + 3) * 3).ps);
  // The second begins 1 us before a slice is there: the first slice only where it is the narrow
  // place, for it is busy when the others come; each slice where the first relay takes 4 us.
  CHECK(finished(8, 2, 1) == microseconds(2 - 1 + 3 + 3 + 3).ps);
  CHECK(finished(8, 4, 1) == microseconds(4 + 4 + 4 - 1 + 3).ps);
}
