// Goal: the timing rule of executor.hpp, to the picosecond.
// Method: rings and chains small enough to be derived by hand; then properties that must hold on
// any seeded random ring: bytes conserved, no link above its rate, both stamp types equal.

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/machines/executor.hpp"
#include "tests/unit/sim/machines/chain.hpp"

using namespace fabricast;
using fabricast::testing::Chain;

namespace {

/// A ring all-reduce of one chunk per rank and step: send, then 2n-3 forwards, then a receive.
struct RingOfOnes final : Program {
  std::uint32_t ranks = 0;
  Bytes chunk;
  std::uint32_t slices = 1;

  bool next(Role, Cursor& cursor, Primitive& primitive) const override {
    const std::uint32_t last = 2 * (ranks - 1);
    if (cursor.minor > last) return false;
    primitive = {cursor.minor != 0 ? 1u : 0u,
                 cursor.minor != last ? 1u : 0u,
                 slices,
                 chunk,
                 {chunk.count / slices}};
    ++cursor.minor;
    return true;
  }
};

struct Hop {
  Bandwidth copy_rate{0}, rate{0};
  Duration latency, overhead, sync, credit;
  std::uint32_t slots = 4;
};

/// One link per rank, from it to the next.
template <class Stamp>
void build_ring(Executor<Stamp>& executor, const RingOfOnes& program, const Hop& hop) {
  const std::uint32_t kind = executor.add_worker_class({hop.copy_rate, {}});
  for (std::uint32_t r = 0; r < program.ranks; ++r) {
    executor.add_link({hop.rate, hop.latency});
    executor.add_worker(kind, program, {0, r});
  }
  for (std::uint32_t r = 0; r < program.ranks; ++r) {
    executor.connect(
        {r, (r + 1) % program.ranks, hop.slots, {&r, 1}, hop.overhead, hop.sync, hop.credit, {}});
  }
}

constexpr std::int64_t kAtOnce = 1'000'000'000'000'000, kHalfAsFast = 500'000'000;  // B/s

/// Until a chunk of 3000 B has passed three workers, links of that rate between them, in ns.
std::int64_t three_in_a_chain(const WorkerClass& worker, bool by_line, std::int64_t rate) {
  Executor<PlainStamp> executor;
  Chain program;
  program.length = 3;
  program.count = 1;
  program.chunk = {3000};
  const std::uint32_t kind = executor.add_worker_class(worker);
  for (std::uint32_t i = 0; i < 3; ++i) executor.add_worker(kind, program, {0, i});
  for (std::uint32_t i = 0; i < 2; ++i) {
    ConnectionSpec spec{i, i + 1, 4, {}, nanoseconds(100), {}, {}, {}};
    const std::uint32_t link = executor.add_link({{rate}, {}});
    spec.path = {&link, 1};
    spec.by_line = by_line;
    executor.connect(spec);
  }
  executor.run();
  return executor.makespan().ps / 1000;
}

}  // namespace

TEST_CASE("equal classes are one; each of more than 256 kinds of connection keeps its latencies") {
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{}, {}});
  CHECK(executor.add_worker_class({{1}, {}}) == kind + 1);
  CHECK(executor.add_worker_class({{}, {}}) == kind);
  CHECK(executor.add_relay_class({{nanoseconds(1)}, {}}) == 0);
  CHECK(executor.add_relay_class({{nanoseconds(2)}, {}}) == 1);
  CHECK(executor.add_relay_class({{nanoseconds(1)}, {}}) == 0);

  // Chains of two without links: what is sent at 0 is seen after the sync of its connection.
  Chain program;
  program.length = 2;
  program.count = 1;
  program.chunk = {64};
  constexpr std::uint32_t chains = 600;
  for (std::uint32_t i = 0; i < 2 * chains; ++i) executor.add_worker(kind, program, {0, i % 2});
  for (std::uint32_t i = 0; i < chains; ++i)
    executor.connect({2 * i, 2 * i + 1, 1, {}, {}, nanoseconds(i + 1), {}, {}});
  executor.run();
  for (std::uint32_t i = 0; i < chains; ++i)
    CHECK(executor.finished(2 * i + 1).ps == nanoseconds(i + 1).ps);
}

TEST_CASE("uncongested ring: 2(n-1)(latency + chunk/bandwidth), exactly") {
  // Overhead 0 and infinite copy rate: each of 2(n-1) steps waits for one chunk to arrive. The last
  // primitive only receives and takes no time. 1 MiB at 100 GB/s = 10,485,760 ps; latency 700 ns.
  for (const std::uint32_t n : {2u, 3u, 8u, 64u}) {
    Executor<PlainStamp> executor;
    RingOfOnes program;
    program.ranks = n;
    program.chunk = {1 << 20};
    Hop hop;
    hop.rate = {100'000'000'000};
    hop.latency = nanoseconds(700);
    build_ring(executor, program, hop);
    executor.run();
    CHECK(executor.makespan().ps == 2 * (n - 1) * (700'000 + 10'485'760));
    CHECK(executor.events() == n * (2 * (n - 1) + 1));
    for (std::uint32_t r = 0; r < n; ++r) {
      CHECK(executor.finished(r).ps == executor.makespan().ps);
      CHECK(executor.carried(r).count == 2 * (n - 1) * (1 << 20));
    }
  }
}

TEST_CASE("first pass: a primitive copies only what is beyond it") {
  // 1 B a nanosecond, 1000 B of a slice at once, 100 ns per primitive; one sends, one receives.
  for (const auto& [bytes, copies] : {std::pair(1500, 500), std::pair(1000, 0), std::pair(8, 0)}) {
    Executor<PlainStamp> executor;
    Chain program;
    program.length = 2;
    program.count = 1;
    program.chunk = {bytes};
    const std::uint32_t kind = executor.add_worker_class({{1'000'000'000}, {}, {1000}});
    executor.add_worker(kind, program, {0, 0});
    executor.add_worker(kind, program, {0, 1});
    executor.connect({0, 1, 4, {}, nanoseconds(100), {}, {}, {}});
    executor.run();
    CHECK(executor.makespan().ps == 2 * (100 + copies) * 1000);
  }
}

TEST_CASE("three programs in turn, more often than programs have numbers") {
  // Pairs of a sender and a receiver: one, three or five chunks of 1 MiB, each kind over its link.
  std::array<Chain, 3> programs;
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  for (std::uint32_t i = 0; i < 3; ++i) {
    programs[i].length = 2;
    programs[i].count = 2 * i + 1;
    programs[i].chunk = {1 << 20};
    executor.add_link({{100'000'000'000}, {}});
  }
  constexpr std::uint32_t pairs = 3 * 23'000;  // 65,536 = 1 mod 3
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const std::uint32_t which = pair % 3;
    const std::uint32_t from = executor.add_worker(kind, programs[which], {0, 0});
    const std::uint32_t to = executor.add_worker(kind, programs[which], {0, 1});
    executor.connect({from, to, 4, {&which, 1}, {}, {}, {}, {}});
  }
  executor.run();
  for (std::uint32_t i = 0; i < 3; ++i)
    CHECK(executor.carried(i).count == std::int64_t{pairs / 3} * (2 * i + 1) * (1 << 20));
}

TEST_CASE("overhead, copying, sync: every term of the rule in its place") {
  // A step costs overhead + max(copy, link) + latency + sync before the next rank can start; the
  // last receive costs overhead + copy. Copy-bound: 1 MB at 20 GB/s = 50 us > 1 MB at 50 GB/s = 20
  // us.
  Hop hop;
  hop.rate = {50'000'000'000};
  hop.copy_rate = {20'000'000'000};
  hop.latency = nanoseconds(300);
  hop.overhead = nanoseconds(2'000);
  hop.sync = nanoseconds(400);
  RingOfOnes program;
  program.ranks = 4;
  program.chunk = {1'000'000};
  SUBCASE("worker bound") {
    Executor<PlainStamp> executor;
    build_ring(executor, program, hop);
    executor.run();
    const std::int64_t step = 2'000'000 + 50'000'000 + 300'000 + 400'000;
    CHECK(executor.makespan().ps == 6 * step + 2'000'000 + 50'000'000);
  }
  SUBCASE("link bound") {
    hop.rate = {10'000'000'000};  // 100 us
    Executor<PlainStamp> executor;
    build_ring(executor, program, hop);
    executor.run();
    const std::int64_t step = 2'000'000 + 100'000'000 + 300'000 + 400'000;
    CHECK(executor.makespan().ps == 6 * step + 2'000'000 + 50'000'000);
  }
}

TEST_CASE("an end saves what its connection says of the overhead, the others nothing") {
  // A chain of four: the first only sends, the last only receives, 1,000 ns less 400 each; the two
  // between pay all. Copying and links take no time.
  Executor<PlainStamp> executor;
  Chain program;
  program.length = 4;
  program.count = 1;
  program.chunk = {1000};
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  for (std::uint32_t i = 0; i < 4; ++i) executor.add_worker(kind, program, {0, i});
  for (std::uint32_t i = 0; i < 3; ++i) {
    ConnectionSpec spec;
    spec.from = i;
    spec.to = i + 1;
    spec.overhead = nanoseconds(1000);
    spec.end_saves = nanoseconds(400);
    executor.connect(spec);
  }
  executor.run();
  CHECK(executor.finished(0).ps == 600'000);
  CHECK(executor.finished(2).ps == 600'000 + 2 * 1'000'000);
  CHECK(executor.makespan().ps == 2 * 600'000 + 2 * 1'000'000);
}

TEST_CASE("two slices per chunk pipeline: the second one follows one slice time behind") {
  // Slices of 1 MB, 10 us each on the link, latency 1 us. A rank forwards slice 1 while slice 2
  // arrives, so a step is max(slice + latency, 2 slices) behind the one before: link-bound when 2 *
  // 10 > 10 + 1. First slice of step k starts at k * 20 us; the last step's second slice arrives at
  // (2(n-1) - 1) * 20 + 20 + 1 us.
  Executor<PlainStamp> executor;
  RingOfOnes program;
  program.ranks = 3;
  program.chunk = {2'000'000};
  program.slices = 2;
  Hop hop;
  hop.rate = {100'000'000'000};
  hop.latency = microseconds(1);
  build_ring(executor, program, hop);
  executor.run();
  CHECK(executor.makespan().ps == microseconds(3 * 20 + 20 + 1).ps);
}

TEST_CASE("chain: fill once, then one slice per bottleneck time") {
  // 3 workers, 10 slices of 1 MB, both links 100 GB/s (10 us), latency 1 us, plenty of slots. The
  // first slice arrives at the end after 2 * 11 us, each of the 9 others 10 us later.
  Executor<PlainStamp> executor;
  Chain program;
  program.length = 3;
  program.count = 10;
  program.chunk = {1'000'000};
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  for (std::uint32_t i = 0; i < 3; ++i) executor.add_worker(kind, program, {0, i});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint32_t link = executor.add_link({{100'000'000'000}, microseconds(1)});
    executor.connect({i, i + 1, 16, {&link, 1}, {}, {}, {}, {}});
  }
  executor.run();
  CHECK(executor.makespan().ps == microseconds(2 * 11 + 9 * 10).ps);
}

TEST_CASE("one slot: stop and wait") {
  // A slice takes 10 us + 1 us to arrive; the receiver frees the slot at once, and that takes 3 us
  // to be known. So slices start every 14 us: the last of 5 arrives at 4 * 14 + 11.
  Chain program;
  program.length = 2;
  program.count = 5;
  program.chunk = {1'000'000};
  Executor<CausalStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  executor.add_worker(kind, program, {0, 0});
  executor.add_worker(kind, program, {0, 1});
  const std::uint32_t link = executor.add_link({{100'000'000'000}, microseconds(1)});
  executor.connect({0, 1, 1, {&link, 1}, {}, {}, microseconds(3), {}});
  executor.run();
  const CausalStamp end = executor.makespan();
  CHECK(end.ps == microseconds(4 * 14 + 11).ps);
  CHECK(end.of(Cause::link).ps == microseconds(5 * 10).ps);
  CHECK(end.of(Cause::latency).ps == microseconds(5).ps);
  CHECK(end.of(Cause::slots).ps == microseconds(4 * 3).ps);
}

TEST_CASE("a shared link serves in order of arrival, ties by worker") {
  // Two senders, one link: equal start, so worker 0 goes first and worker 1's slice arrives 10 us
  // later.
  Chain program;
  program.length = 2;
  program.count = 1;
  program.chunk = {1'000'000};
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  for (std::uint32_t i = 0; i < 4; ++i) executor.add_worker(kind, program, {0, i / 2});
  const std::uint32_t link = executor.add_link({{100'000'000'000}, {}});
  executor.connect({1, 3, 1, {&link, 1}, {}, {}, {}, {}});  // order of connecting does not matter
  executor.connect({0, 2, 1, {&link, 1}, {}, {}, {}, {}});
  executor.run();
  CHECK(executor.finished(2).ps == microseconds(10).ps);
  CHECK(executor.finished(3).ps == microseconds(20).ps);
}

TEST_CASE(
    "a link of several lanes: a slice waits only for what is booked beyond one of each lane") {
  // Three senders with a link of 100 GB/s each, two lanes of 100 GB/s for all, a link for each
  // receiver: 10 us of bytes. Two pass side by side. The third finds 10 us booked, of which the
  // other lane will carry 5 while it carries its own: it begins at 5 us. On one lane of 200 GB/s
  // each waits for those before it, 5 and 10 us.
  for (const std::int64_t lanes : {2, 1}) {
    CAPTURE(lanes);
    Chain program;
    program.length = 2;
    program.count = 1;
    program.chunk = {1'000'000};
    Executor<PlainStamp> executor;
    const std::uint32_t kind = executor.add_worker_class({{0}, {}});
    for (std::uint32_t i = 0; i < 6; ++i) executor.add_worker(kind, program, {0, i / 3});
    const std::uint32_t all = executor.add_link({{200'000'000'000}, {}, lanes});
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::uint32_t path[] = {executor.add_link({{100'000'000'000}, {}}), all,
                                    executor.add_link({{100'000'000'000}, {}})};
      executor.connect({i, 3 + i, 1, path, {}, {}, {}, {}});
    }
    executor.run();
    CHECK(executor.finished(3).ps == microseconds(10).ps);
    CHECK(executor.finished(4).ps == microseconds(lanes == 2 ? 10 : 15).ps);
    CHECK(executor.finished(5).ps == microseconds(lanes == 2 ? 15 : 20).ps);
  }
}

TEST_CASE("lines: a receiver begins with the first byte, but waits for none") {
  // A chain of three, 3000 B at 1 B a nanosecond, of which 1000 B at once: a primitive takes
  // 100 + 2000 ns. By slices 3 * 2100. By lines each begins when the one before stores its first
  // ones, 100 ns after it began: 3 * 100 + 2000. Links of 0.5 B a nanosecond take 6000 ns: the next
  // worker begins 2000 ns before the last byte is there, at 100 + 4000 and then at 8200.
  const WorkerClass worker{{1'000'000'000}, {}, {1000}};
  CHECK(three_in_a_chain(worker, false, kAtOnce) == 3 * 2100);
  CHECK(three_in_a_chain(worker, true, kAtOnce) == 3 * 100 + 2000);
  CHECK(three_in_a_chain(worker, false, kHalfAsFast) == 6100 + 6100 + 2100);
  CHECK(three_in_a_chain(worker, true, kHalfAsFast) == 8200 + 2100);
}

TEST_CASE("passes: a receiver that takes lines by passes waits for its first one") {
  // The same chain, but all 3000 B are copied, the first 1000 before any is stored. Slices: each
  // worker waits for the one before, 3 * 3100. Passes: the first byte leaves 1100 ns after a worker
  // began, and lines come over 2000 ns, of which a third is the first pass: the next one begins
  // 1100 + 666 ns after it. Over links of 0.5 B a nanosecond lines come over 6000 ns: the next one
  // begins 2000 ns before the last is there, which is 4000 ns after the first.
  WorkerClass worker{{1'000'000'000}, {}, {}};
  worker.copied_ahead = {1000};
  CHECK(three_in_a_chain(worker, false, kAtOnce) == 3 * 3100);
  CHECK(three_in_a_chain(worker, true, kAtOnce) == 2 * 1766 + 3100 + 1);
  CHECK(three_in_a_chain(worker, true, kHalfAsFast) == 2 * (1100 + 4000) + 3100);
}

TEST_CASE("wire format: LL doubles the bytes on the link, in whole lines") {
  CHECK(WireFormat{8, 16}.on_wire({8}).count == 16);
  CHECK(WireFormat{8, 16}.on_wire({9}).count == 32);
  CHECK(WireFormat{1920, 2048}.on_wire({1921}).count == 4096);
  CHECK(WireFormat{}.on_wire({12345}).count == 12345);
  CHECK(WireFormat{8, 16}.on_wire({0}).count == 0);
}

TEST_CASE("a schedule that cannot go on is an error that names who waits for what") {
  // Two workers that both begin with a receive.
  struct Starving final : Program {
    bool next(Role, Cursor&, Primitive& primitive) const override {
      primitive = {1, 1, 1, {8}, {8}};
      return true;
    }
  } program;
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  executor.add_worker(kind, program, {0, 0});
  executor.add_worker(kind, program, {0, 1});
  executor.connect({0, 1, 1, {}, {}, {}, {}, {}});
  executor.connect({1, 0, 1, {}, {}, {}, {}, {}});
  CHECK_THROWS_WITH_AS(
      executor.run(),
      "the schedule came to a halt: worker 0 (lane 0, position 0) waits for a slice "
      "of worker 1; worker 1 (lane 0, position 1) waits for a slice of worker 0; ",
      std::logic_error);
}

TEST_CASE("random rings: bytes conserved, no link above its rate, causes sum up, runs repeat") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    auto pick = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    RingOfOnes program;
    program.ranks = static_cast<std::uint32_t>(pick(2, 12));
    program.slices = static_cast<std::uint32_t>(pick(1, 2));
    program.chunk = {pick(0, 200'000) * program.slices};
    Hop hop;
    hop.rate = {pick(1, 400) * 1'000'000'000};
    hop.copy_rate = {pick(0, 40) * 1'000'000'000};
    hop.latency = {pick(0, 3'000'000)};
    hop.overhead = {pick(0, 3'000'000)};
    hop.sync = {pick(0, 3'000'000)};
    hop.credit = {pick(0, 3'000'000)};
    // With no more slots than slices in a chunk every rank would fill its own and wait for the
    // next.
    hop.slots = static_cast<std::uint32_t>(pick(program.slices + 1, 8));
    Executor<PlainStamp> plain, again;
    Executor<CausalStamp> causal;
    build_ring(plain, program, hop);
    build_ring(again, program, hop);
    build_ring(causal, program, hop);
    plain.run();
    causal.run();
    again.run();
    CHECK(plain.digest() == again.digest());
    CHECK(plain.digest() == causal.digest());
    CHECK(plain.makespan().ps == causal.makespan().ps);
    std::int64_t parts = 0;
    for (const std::int64_t part : causal.makespan().parts) parts += part;
    CHECK(parts == causal.makespan().ps);
    for (std::uint32_t r = 0; r < program.ranks; ++r) {
      CHECK(plain.carried(r).count == program.chunk.count * 2 * (program.ranks - 1));
      CHECK(transfer_time(plain.carried(r), hop.rate).ps <= plain.makespan().ps);
    }
  }
}

TEST_CASE("where ways join, slices are served in the order of their arrival") {
  // Path A crosses link X (10 us latency) and then Y, where it arrives at 10 us. Two others start
  // at the same instant, later workers, and arrive at Y at once: they take 5 and 8 us, and the
  // slice of path A waits 3 us for the second one. It is done 10 us after that, at 23 us.
  struct Once final : Program {
    bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
      if (cursor.minor++ > 0) return false;
      const Bytes chunk{role.position};
      primitive = {role.lane, 1 - role.lane, 1, chunk, chunk};
      return true;
    }
  } program;
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{0}, {}});
  const std::uint32_t x = executor.add_link({{1'000'000'000'000}, microseconds(10)});
  const std::uint32_t y = executor.add_link({{100'000'000'000}, {}});
  const std::uint32_t sizes[] = {1'000'000, 500'000, 800'000};  // 10, 5 and 8 us on Y, 1 us on X
  for (const std::uint32_t size : sizes) executor.add_worker(kind, program, {0, size});
  for (const std::uint32_t size : sizes) executor.add_worker(kind, program, {1, size});
  const std::uint32_t far[] = {x, y};
  executor.connect({0, 3, 1, far, {}, {}, {}, {}});
  executor.connect({1, 4, 1, {&y, 1}, {}, {}, {}, {}});
  executor.connect({2, 5, 1, {&y, 1}, {}, {}, {}, {}});
  executor.run();
  CHECK(executor.finished(3).ps == microseconds(23).ps);
  CHECK(executor.finished(4).ps == microseconds(5).ps);
  CHECK(executor.finished(5).ps == microseconds(13).ps);
}
