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

using namespace fabricast;

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

/// `count` chunks from position 0 along a chain of `length` workers.
struct Chain final : Program {
  std::uint32_t length = 0, count = 0;
  Bytes chunk;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == count) return false;
    ++cursor.minor;
    primitive = {role.position > 0 ? 1u : 0u, role.position + 1 < length ? 1u : 0u, 1, chunk,
                 chunk};
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

TEST_CASE("in step: stores hold a worker, and a link is idle while all keep what they received") {
  // Two GPUs send each other 1000 B a loop and keep what they receive, on each of `lanes` workers.
  // A GPU's link carries 1000 B in 10 us, a worker copies them in 4 us. One worker waits for what
  // it keeps, so the link rests meanwhile. Several that are free take turns and the link never
  // rests: lanes * 10 us a loop, and at the end one copy. Workers in step leave it idle for 4 us a
  // loop: lanes * 10 + 4.
  struct SendKeep final : Program {
    bool next(Role, Cursor& cursor, Primitive& primitive) const override {
      if (cursor.minor == 10) return false;
      const bool sends = cursor.minor++ % 2 == 0;
      primitive = {sends ? 0u : 1u, sends ? 1u : 0u, 1, {1000}, {1000}};
      return true;
    }
  };
  const SendKeep program;
  const auto makespan = [&](std::uint32_t lanes, bool in_step, bool through_relays) {
    Executor<PlainStamp> executor;
    const std::uint32_t kind = executor.add_worker_class({{250'000'000}, {}, {}, in_step});
    const std::uint32_t relays = executor.add_relay_class({});
    for (int gpu = 0; gpu < 2; ++gpu) executor.add_link({{100'000'000}, {}});
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint32_t first = executor.add_worker(kind, program, {lane, 0});
      executor.add_worker(kind, program, {lane, 1});
      for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
        std::uint32_t from = first + gpu;
        if (through_relays) {
          const std::uint32_t relay = executor.add_relay(relays, executor.add_thread(), 1);
          executor.connect({from, relay, 4, {}, {}, {}, {}, {}});
          from = relay;
        }
        executor.connect({from, first + 1 - gpu, 4, {&gpu, 1}, {}, {}, {}, {}});
      }
    }
    executor.run();
    return executor.makespan().ps / 1'000'000;
  };
  CHECK(makespan(1, false, false) == 5 * (10 + 4));
  CHECK(makespan(1, true, false) == 5 * (10 + 4));
  CHECK(makespan(2, false, false) == 5 * 20 + 4);
  CHECK(makespan(2, true, false) == 5 * (20 + 4));
  CHECK(makespan(4, true, false) == 5 * (40 + 4));
  // A relay takes a slice over: the worker is free when it has copied.
  CHECK(makespan(2, true, true) == makespan(2, false, true));
}

TEST_CASE("lines: a receiver begins with the first byte, but waits for none") {
  // A chain of three, 3000 B at 1 B a nanosecond, of which 1000 B at once: a primitive takes
  // 100 + 2000 ns. By slices 3 * 2100. By lines each begins when the one before stores its first
  // ones, 100 ns after it began: 3 * 100 + 2000. Links of 0.5 B a nanosecond take 6000 ns: the next
  // worker begins 2000 ns before the last byte is there, at 100 + 4000 and then at 8200.
  const auto makespan = [](bool by_line, std::int64_t rate) {
    Executor<PlainStamp> executor;
    Chain program;
    program.length = 3;
    program.count = 1;
    program.chunk = {3000};
    const std::uint32_t kind = executor.add_worker_class({{1'000'000'000}, {}, {1000}});
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
  };
  constexpr std::int64_t fast = 1'000'000'000'000'000, slow = 500'000'000;
  CHECK(makespan(false, fast) == 3 * 2100);
  CHECK(makespan(true, fast) == 3 * 100 + 2000);
  CHECK(makespan(false, slow) == 6100 + 6100 + 2100);
  CHECK(makespan(true, slow) == 8200 + 2100);
}

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

TEST_CASE("in step with pauses: from slice to slice the link is idle for an overhead") {
  // A GPU's workers send 5 slices each over one link, 10 us each; before each a worker is busy for
  // 3 us, and a receiver after the last. One worker: 5 * (10 + 3) + 3. Two take turns, so that the
  // link never rests. Workers that pause together leave it idle for 3 us before each round of
  // slices, the first one too. Those that drift apart over three slices pause for 3, 2, 1 us, then
  // no more.
  constexpr int kSlices = 5;
  Chain program;
  program.length = 2;
  program.count = kSlices;
  program.chunk = {1'000};
  const auto makespan = [&](std::uint32_t lanes, bool pauses, std::uint32_t in_step_slices = 0) {
    Executor<PlainStamp> executor;
    const std::uint32_t kind =
        executor.add_worker_class({{0}, {}, {}, true, pauses, in_step_slices});
    const std::uint32_t link = executor.add_link({{100'000'000}, {}});
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint32_t from = executor.add_worker(kind, program, {lane, 0});
      const std::uint32_t to = executor.add_worker(kind, program, {lane, 1});
      executor.connect({from, to, 4, {&link, 1}, microseconds(3), {}, {}, {}});
    }
    executor.run();
    return executor.makespan().ps / 1'000'000;
  };
  CHECK(makespan(1, false) == kSlices * (10 + 3) + 3);
  CHECK(makespan(1, true) == kSlices * (10 + 3) + 3);
  CHECK(makespan(2, false) == 3 + kSlices * 20 + 3);
  CHECK(makespan(2, true) == kSlices * (20 + 3) + 3);
  CHECK(makespan(4, true) == kSlices * (40 + 3) + 3);
  CHECK(makespan(2, true, 3) == kSlices * 20 + 3 + 2 + 1 + 3);
  CHECK(makespan(4, true, 3) == kSlices * 40 + 3 + 2 + 1 + 3);
  CHECK(makespan(2, true, 1) == makespan(2, false));
}

TEST_CASE("own copy: a primitive without inputs also writes what it sends") {
  // Slices of 1 kB, an overhead of 3 us, a copy of 1 us and one to the own output of 2 us; the link
  // is no limit. The sender goes on every 3 + 1 + 2 us, the receiver, who keeps nothing more, ends
  // 3 + 1 us after the last slice came.
  constexpr int kSlices = 5;
  Chain program;
  program.length = 2;
  program.count = kSlices;
  program.chunk = {1'000};
  const auto makespan = [&](std::int64_t keep_rate) {
    Executor<PlainStamp> executor;
    WorkerClass both;
    both.copy_rate = {1'000'000'000};
    both.keep_rate = {keep_rate};
    const std::uint32_t kind = executor.add_worker_class(both);
    const std::uint32_t link = executor.add_link({{1'000'000'000'000}, {}});
    const std::uint32_t from = executor.add_worker(kind, program, {0, 0});
    const std::uint32_t to = executor.add_worker(kind, program, {0, 1});
    executor.connect({from, to, 4, {&link, 1}, microseconds(3), {}, {}, {}});
    executor.run();
    return executor.makespan().ps / 1'000'000;
  };
  CHECK(makespan(0) == kSlices * (3 + 1) + 3 + 1);
  CHECK(makespan(500'000'000) == kSlices * (3 + 1 + 2) + 3 + 1);
}

TEST_CASE("wire format: LL doubles the bytes on the link, in whole lines") {
  CHECK(WireFormat{8, 16}.on_wire({8}).count == 16);
  CHECK(WireFormat{8, 16}.on_wire({9}).count == 32);
  CHECK(WireFormat{1920, 2048}.on_wire({1921}).count == 4096);
  CHECK(WireFormat{}.on_wire({12345}).count == 12345);
  CHECK(WireFormat{8, 16}.on_wire({0}).count == 0);
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
