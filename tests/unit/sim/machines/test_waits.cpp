// Goal: a worker starts when the last of what it needs is there, in whatever order that comes.
// Method: a receiver of three and a sender to three, with one slot each, derived by hand; an empty
// slice beside a full one; both kinds of stamps, shared and by number.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/machines/executor.hpp"

using namespace fabricast;

namespace {

constexpr Bytes kWaitChunk{1'000'000};
constexpr std::uint32_t kChunks = 4;

/// Chunks over all inputs and outputs; role.lane: bits of the inputs, position: of the outputs.
struct All final : Program {
  Bytes chunk = kWaitChunk;
  std::uint32_t chunks = kChunks;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == chunks) return false;
    ++cursor.minor;
    primitive = {role.lane, role.position, 1, chunk, chunk};
    return true;
  }
};

/// Three senders to one receiver, which copies a chunk in 5 us: when it ends. Sender i has a link
/// that carries a chunk in took[i] us.
template <class Stamp>
std::int64_t gathered(const std::array<std::int64_t, 3>& took, bool shares) {
  const All program;
  Executor<Stamp> executor;
  const std::uint32_t idle = executor.add_worker_class({});
  const std::uint32_t copies = executor.add_worker_class({{200'000'000'000}, {}});
  const std::uint32_t receiver = executor.add_worker(copies, program, {7, 0});
  for (const std::int64_t us : took) {
    const std::uint32_t link = executor.add_link({{kWaitChunk.count * 1'000'000 / us}, {}});
    ConnectionSpec spec;
    spec.from = executor.add_worker(idle, program, {0, 1});
    spec.to = receiver;
    spec.path = {&link, 1};
    spec.shares = shares;
    executor.connect(spec);
  }
  executor.run();
  return executor.finished(receiver).ps;
}

/// One sender to three receivers, which copy a chunk in took[i] us, over no links: their ends.
template <class Stamp>
std::array<std::int64_t, 3> scattered(const std::array<std::int64_t, 3>& took, bool shares) {
  const All program;
  Executor<Stamp> executor;
  const std::uint32_t sender = executor.add_worker(executor.add_worker_class({}), program, {0, 7});
  for (const std::int64_t us : took) {
    const std::uint32_t kind = executor.add_worker_class({{kWaitChunk.count * 1'000'000 / us}, {}});
    ConnectionSpec spec;
    spec.from = sender;
    spec.to = executor.add_worker(kind, program, {1, 0});
    spec.shares = shares;
    executor.connect(spec);
  }
  executor.run();
  return {executor.finished(1).ps, executor.finished(2).ps, executor.finished(3).ps};
}

/// Ends of two receivers, whose senders share a way of two links: of a chunk, and of an empty one.
template <class Stamp>
std::array<std::int64_t, 2> full_and_empty() {
  All full, empty;
  full.chunks = empty.chunks = 1;
  empty.chunk = {};
  Executor<Stamp> executor;
  const std::uint32_t kind = executor.add_worker_class({});
  const std::array<std::uint32_t, 2> way = {
      executor.add_link({{100'000'000'000}, microseconds(3)}),
      executor.add_link({{100'000'000'000}, microseconds(4)})};
  for (const All* program : {&full, &empty}) {
    const std::uint32_t from = executor.add_worker(kind, *program, {0, 1});
    const std::uint32_t to = executor.add_worker(kind, *program, {1, 0});
    executor.connect({from, to, 4, way, microseconds(1), microseconds(2), {}, {}});
  }
  executor.run();
  CHECK(executor.carried(way[0]) == kWaitChunk);
  CHECK(executor.carried(way[1]) == kWaitChunk);
  return {executor.finished(1).ps, executor.finished(3).ps};
}

}  // namespace

TEST_CASE("several inputs: the last one counts, in whatever order they come") {
  // With one slot all senders wait for the receiver: a round takes 40 us of the slowest link and
  // 5 us of copying.
  std::array<std::int64_t, 3> took = {10, 20, 40};
  do {
    for (const bool shares : {false, true}) {
      CHECK(gathered<PlainStamp>(took, shares) == microseconds(kChunks * 45).ps);
      CHECK(gathered<CausalStamp>(took, shares) == microseconds(kChunks * 45).ps);
    }
  } while (std::next_permutation(took.begin(), took.end()));
}

TEST_CASE("several outputs: the last free slot counts, in whatever order they come") {
  // A round takes the 20 us of the slowest receiver; the others end earlier in the last one.
  std::array<std::int64_t, 3> took = {5, 10, 20};
  do {
    for (const bool shares : {false, true}) {
      const auto ends = scattered<PlainStamp>(took, shares);
      CHECK(ends == scattered<CausalStamp>(took, shares));
      for (std::size_t i = 0; i < 3; ++i)
        CHECK(ends[i] == microseconds((kChunks - 1) * 20 + took[i]).ps);
    }
  } while (std::next_permutation(took.begin(), took.end()));
}

TEST_CASE(
    "an empty slice takes a block no time, passes what its links are busy with, and waits for "
    "latencies") {
  // Overhead 1 at both ends of the full one, latencies 3 + 4, seen 2 us later; it is on the links
  // for 10 us besides.
  const std::array<std::int64_t, 2> expected = {microseconds(1 + 10 + 3 + 4 + 2 + 1).ps,
                                                microseconds(3 + 4 + 2).ps};
  CHECK(full_and_empty<PlainStamp>() == expected);
  CHECK(full_and_empty<CausalStamp>() == expected);
}
