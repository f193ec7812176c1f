// Goal: what workers of one block wait for together (WorkerClass::in_step, pauses, keep_rate,
// copied_ahead, readies), to the picosecond. Method: chains small enough to be derived by hand.

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "sim/machines/executor.hpp"
#include "tests/unit/sim/machines/chain.hpp"

using namespace fabricast;
using fabricast::testing::Chain;

namespace {

constexpr int kSlices = 5;
constexpr std::int64_t kFast = 1'000'000'000'000, kSlow = 100'000'000;  ///< a slice: 1 ns, 10 us

/// When `lanes` senders of one kind have sent kSlices of 1 kB each over one link, and receivers of
/// that kind have taken them. Every primitive has an overhead of 3 us.
std::int64_t makespan_ns(const WorkerClass& both, std::int64_t link_rate, std::uint32_t lanes = 1) {
  Chain program;
  program.length = 2;
  program.count = kSlices;
  program.chunk = {1'000};
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class(both);
  const std::uint32_t link = executor.add_link({{link_rate}, {}});
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint32_t from = executor.add_worker(kind, program, {lane, 0});
    const std::uint32_t to = executor.add_worker(kind, program, {lane, 1});
    executor.connect({from, to, 4, {&link, 1}, microseconds(3), {}, {}, {}});
  }
  executor.run();
  return executor.makespan().ps / 1'000;
}

/// Copies a slice in 1 us.
WorkerClass copying() {
  WorkerClass out;
  out.copy_rate = {1'000'000'000};
  return out;
}

}  // namespace

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

TEST_CASE("in step with pauses: from slice to slice the link is idle for an overhead") {
  // A GPU's workers send 5 slices each over one link, 10 us each; before each a worker is busy for
  // 3 us, and a receiver after the last. One worker: 5 * (10 + 3) + 3. Two take turns, so that the
  // link never rests. Workers that pause together leave it idle for 3 us before each round of
  // slices, the first one too. Those that drift apart over three slices pause for 3, 2, 1 us, then
  // no more.
  const auto makespan = [](std::uint32_t lanes, bool pauses, std::uint32_t in_step_slices = 0) {
    return makespan_ns({{0}, {}, {}, true, pauses, in_step_slices}, kSlow, lanes) / 1'000;
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
  const auto makespan = [](std::int64_t keep_rate) {
    WorkerClass both = copying();
    both.keep_rate = {keep_rate};
    return makespan_ns(both, kFast) / 1'000;
  };
  CHECK(makespan(0) == kSlices * (3 + 1) + 3 + 1);
  CHECK(makespan(500'000'000) == kSlices * (3 + 1 + 2) + 3 + 1);
}

TEST_CASE("copied ahead: the first bytes of a slice leave when so much of it is copied") {
  // Slices of 1 kB, an overhead of 3 us, a copy of 1 us, 10 us on the link. One worker fills the
  // link: what it copies ahead delays the first slice alone. Two in step, which pause, leave the
  // link idle for it before each round of slices. The receiver takes 3 + 1 us after the last.
  const auto makespan = [](std::uint32_t lanes, bool in_step, std::int64_t ahead) {
    WorkerClass both = copying();
    both.in_step = both.pauses = in_step;
    both.copied_ahead = {ahead};
    return makespan_ns(both, kSlow, lanes);
  };
  CHECK(makespan(1, false, 0) == 3'000 + kSlices * 10'000 + 4'000);
  CHECK(makespan(1, false, 400) == 3'400 + kSlices * 10'000 + 4'000);
  CHECK(makespan(1, false, 5'000) == 4'000 + kSlices * 10'000 + 4'000);
  CHECK(makespan(2, true, 0) == kSlices * (20'000 + 3'000) + 4'000);
  CHECK(makespan(2, true, 400) == kSlices * (20'000 + 3'400) + 4'000);
}

TEST_CASE("readies: an overhead after a slice passes while the worker waits for the next one") {
  // Slices of 1 kB, a copy of 1 us, an overhead of 3 us. Over a fast link the sender starts slice i
  // at 4 i us and the receiver, who is ready since 4 (i - 1) + 5, at 4 i + 1: the last one is there
  // at 17, copied at 18, and the receiver ready at 21. Over a link that takes 10 us for a slice
  // both wait for it longer than they need to be ready, in step or not: 50 + 1 + 3.
  const auto makespan = [](std::int64_t link_rate, bool in_step, bool readies) {
    WorkerClass both = copying();
    both.in_step = in_step;
    both.readies = readies;
    return makespan_ns(both, link_rate) / 1'000;
  };
  CHECK(makespan(kFast, false, true) == 4 * (kSlices - 1) + 1 + 1 + 3);
  CHECK(makespan(kFast, false, false) == kSlices * (3 + 1) + 3 + 1);
  CHECK(makespan(kSlow, false, true) == kSlices * 10 + 1 + 3);
  CHECK(makespan(kSlow, true, true) == kSlices * 10 + 1 + 3);
  CHECK(makespan(kSlow, true, false) == kSlices * (10 + 3) + 3 + 1);
}

TEST_CASE("readies: a relay is told of a slice when the worker is ready for the next") {
  // One slice: copied at 1 us, told at 4, at the receiver then, which copies it until 5 and is
  // ready at 8. Where the overhead comes first: 3 + 1, and 3 + 1 again.
  Chain program;
  program.length = 2;
  program.count = 1;
  program.chunk = {1'000};
  const auto makespan = [&](bool readies) {
    Executor<PlainStamp> executor;
    WorkerClass both = copying();
    both.readies = readies;
    const std::uint32_t kind = executor.add_worker_class(both);
    const std::uint32_t from = executor.add_worker(kind, program, {0, 0});
    const std::uint32_t to = executor.add_worker(kind, program, {0, 1});
    const std::uint32_t relay =
        executor.add_relay(executor.add_relay_class({}), executor.add_thread(), 1);
    executor.connect({from, relay, 4, {}, microseconds(3), {}, {}, {}});
    executor.connect({relay, to, 4, {}, microseconds(3), {}, {}, {}});
    executor.run();
    return executor.makespan().ps / 1'000'000;
  };
  CHECK(makespan(true) == 1 + 3 + 1 + 3);
  CHECK(makespan(false) == 3 + 1 + 3 + 1);
}
