// Goal: workers that all send to the same workers, in like ways, do over their crossbar what they
// do over connections of their own. Method: a closed form; random layers of workers with programs
// that say that they take part in all connections, and with the same ones that do not say so.

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/machines/executor.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr Bytes kCrossedChunk{1'000'000};

/// Chunks over all inputs, so many as role.lane, and all outputs, so many as role.position.
struct Layer final : Program {
  std::uint32_t chunks = 4;
  bool says_so = true;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == chunks) return false;
    ++cursor.minor;
    primitive = {(1u << role.lane) - 1, (1u << role.position) - 1, 1, kCrossedChunk, kCrossedChunk};
    return true;
  }
  bool takes_all() const override { return says_so; }
  std::uint64_t number(Role, Cursor cursor) const override { return cursor.minor; }
  Cursor cursor_at(Role, std::uint64_t number) const override {
    return {0, static_cast<std::uint32_t>(number)};
  }
  std::uint64_t repeats(Role, std::uint64_t first, std::uint64_t stride) const override {
    return first + stride < chunks ? chunks - first - stride : 0;
  }
};

/// Layers of workers, each of which takes so many ns for a chunk, from each worker of a layer to
/// each one of the next.
struct Layers {
  std::vector<std::vector<std::int64_t>> took;
  std::vector<ConnectionSpec> between;  ///< what connections from a layer to the next one have
  std::uint32_t chunks = 4;
  std::uint32_t missing = 0;  ///< chunks that the very first worker does not have
  bool jumps = false;
};

struct CrossedRun {
  std::vector<std::int64_t> ends;
  std::uint64_t events = 0, digest = 0;
  std::size_t memory_bytes = 0;
  std::uint64_t skipped = 0;
};

template <class Stamp>
CrossedRun run_layers(const Layers& layers, bool says_so) {
  Layer program, shorter;
  program.chunks = layers.chunks;
  shorter.chunks = layers.chunks - layers.missing;
  program.says_so = shorter.says_so = says_so;
  Executor<Stamp> executor;
  std::vector<std::uint32_t> first;
  for (std::size_t layer = 0; layer < layers.took.size(); ++layer) {
    const bool is_first = layer == 0, is_last = layer + 1 == layers.took.size();
    const Role role{is_first ? 0u : static_cast<std::uint32_t>(layers.took[layer - 1].size()),
                    is_last ? 0u : static_cast<std::uint32_t>(layers.took[layer + 1].size())};
    first.push_back(executor.workers());
    for (const std::int64_t ns : layers.took[layer]) {
      const std::uint32_t kind =
          executor.add_worker_class({{kCrossedChunk.count * 1'000'000'000 / ns}, {}});
      executor.add_worker(kind, executor.workers() == 0 ? shorter : program, role);
    }
  }
  for (std::size_t layer = 0; layer + 1 < layers.took.size(); ++layer) {
    ConnectionSpec spec = layers.between[layer];
    for (std::uint32_t to = 0; to < layers.took[layer + 1].size(); ++to) {
      for (std::uint32_t from = 0; from < layers.took[layer].size(); ++from) {
        spec.from = first[layer] + from;
        spec.to = first[layer + 1] + to;
        executor.connect(spec);
      }
    }
  }
  if (layers.jumps) executor.set_fast_forward(0);
  executor.run();
  CrossedRun out{
      {}, executor.events(), executor.digest(), executor.memory_bytes(), executor.events_skipped()};
  for (std::uint32_t i = 0; i < executor.workers(); ++i)
    out.ends.push_back(executor.finished(i).ps);
  return out;
}

/// Two to four layers of one to five workers. With few different durations runs repeat themselves.
Layers random_layers(Dice& random) {
  Layers out;
  const std::int64_t layers = random.pick(2, 4);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    out.took.emplace_back();
    for (std::int64_t i = random.pick(1, 5); i > 0; --i)
      out.took.back().push_back(random.pick(1, 3) * 1000);
    ConnectionSpec spec;
    spec.slots = static_cast<std::uint32_t>(random.pick(1, 9));
    spec.overhead = nanoseconds(random.pick(0, 2) * 500);
    spec.sync = nanoseconds(random.pick(0, 2) * 500);
    spec.credit = nanoseconds(random.pick(0, 2) * 500);
    spec.shares = random.pick(0, 1) == 0;
    out.between.push_back(spec);
  }
  out.chunks = static_cast<std::uint32_t>(random.pick(1, 40));
  return out;
}

}  // namespace

TEST_CASE("a crossbar: the last sender and the last receiver count") {
  // One slot. Senders take 1 us + 10 or 20 us, the slot is seen full 2 us later, receivers take 5,
  // 10 or 25 us and it is seen free 3 us later: a round takes 1 + 20 + 2 + 25 + 3 us, and in the
  // last one the receivers end as each does. Receivers have no fixed cost but that of connections
  // they receive from: 1 us, too.
  ConnectionSpec spec;
  spec.overhead = microseconds(1);
  spec.sync = microseconds(2);
  spec.credit = microseconds(3);
  const Layers layers{{{10'000, 20'000}, {5'000, 10'000, 25'000}}, {spec}, 4, 0, false};
  const std::int64_t round = 1 + 20 + 2 + 1 + 25 + 3, before = 3 * round;
  const std::vector<std::int64_t> expected = {
      microseconds(before + 11).ps, microseconds(before + 21).ps, microseconds(before + 23 + 6).ps,
      microseconds(before + 23 + 11).ps, microseconds(before + 23 + 26).ps};
  CHECK(run_layers<PlainStamp>(layers, true).ends == expected);
  CHECK(run_layers<PlainStamp>(layers, false).ends == expected);
  CHECK(run_layers<CausalStamp>(layers, true).ends == expected);
}

TEST_CASE("a crossbar takes the place of its connections") {
  // 8 x 8 connections are 64 cache lines, and 4 of 8 slots stand beside them.
  ConnectionSpec spec;
  spec.slots = 8;
  const std::vector<std::int64_t> eight(8, 1'000);
  const Layers layers{{eight, eight}, {spec}, 4, 0, false};
  CHECK(run_layers<PlainStamp>(layers, true).memory_bytes + std::size_t{64} * 64 <
        run_layers<PlainStamp>(layers, false).memory_bytes);
}

TEST_CASE("crossbars have the times and the events of connections") {
  Dice random(61);
  int crossed = 0;
  std::uint64_t skipped = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Layers layers = random_layers(random);
    const CrossedRun with = run_layers<PlainStamp>(layers, true),
                     without = run_layers<PlainStamp>(layers, false);
    CHECK(with.ends == without.ends);
    CHECK(with.events == without.events);
    CHECK(with.digest == without.digest);
    crossed += with.memory_bytes < without.memory_bytes;
    layers.jumps = true;
    const CrossedRun jumped = run_layers<PlainStamp>(layers, true);
    CHECK(jumped.ends == without.ends);
    CHECK(jumped.events == without.events);
    CHECK(jumped.digest == run_layers<PlainStamp>(layers, false).digest);
    skipped += jumped.skipped;
  }
  CHECK(crossed > 100);
  CHECK(skipped > 100);
}

TEST_CASE("who waits at a crossbar is named as at connections") {
  Layers layers{{{1'000, 1'000}, {1'000, 2'000}}, {{}}, 4, 2, false};
  const auto message = [&](bool says_so) -> std::string {
    try {
      run_layers<PlainStamp>(layers, says_so);
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(message(true) ==
        "the schedule came to a halt: worker 1 (lane 0, position 2) waits for a slot of worker 2 a "
        "slot of worker 3; worker 2 (lane 2, position 0) waits for a slice of worker 0; worker 3 "
        "(lane 2, position 0) waits for a slice of worker 0; ");
  CHECK(message(true) == message(false));
}
