// Goal: a run that jumps over what repeats itself (sim/machines/fast_forward.cpp) ends as the run
// of every event does, and jumps soon after the repetition begins. Method: a stream beside another
// one that never keeps step with it and ends.

#include <doctest/doctest.h>

#include <array>

#include "sim/machines/executor.hpp"

using namespace fabricast;

namespace {

/// Equal slices from position 0 to position 1.
struct Streams final : Program {
  struct Stream {
    std::uint32_t slices;
    Bytes size;
  };
  std::array<Stream, 2> of_lane;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    const Stream& stream = of_lane[role.lane];
    if (cursor.minor == stream.slices) return false;
    ++cursor.minor;
    primitive = {role.position, 1 - role.position, 1, stream.size, stream.size};
    return true;
  }
  std::uint64_t number(Role, Cursor cursor) const override { return cursor.minor; }
  Cursor cursor_at(Role, std::uint64_t number) const override {
    return {0, static_cast<std::uint32_t>(number)};
  }
  std::uint64_t repeats(Role role, std::uint64_t first, std::uint64_t stride) const override {
    const std::uint64_t end = of_lane[role.lane].slices;
    return first + stride < end ? end - first - stride : 0;
  }
};

/// Two lanes of two workers each, and a link of the lane's number between them.
template <class Stamp>
void run_lanes(Executor<Stamp>& executor, bool jumps) {
  for (std::uint32_t lane = 0; lane < 2; ++lane)
    executor.connect({2 * lane, 2 * lane + 1, 16, {&lane, 1}, {}, {}, nanoseconds(1), {}});
  if (jumps) executor.set_fast_forward(0);
  executor.run();
}

}  // namespace

TEST_CASE("a short period is found soon after what disturbed it has ended") {
  // A slice of 1,000 B takes 1 ns, one of 1,009 B 1.009 ns: nothing comes again until the second
  // stream ends, about the 908th slice of the first. A state is kept every 32 slices. One that is
  // kept for twice as long each time, after 383, 767 and 1,535 slices, would be compared too late.
  constexpr std::uint32_t slices = 100'000, disturbing = 900;
  Streams program;
  program.of_lane = {{{slices, Bytes{1000}}, {disturbing, Bytes{1009}}}};
  const auto run = [&]<class Stamp>(Stamp, bool jumps) {
    Executor<Stamp> executor;
    const std::uint32_t kind = executor.add_worker_class({{1'000'000'000'000}, {}});
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      executor.add_link({{1'000'000'000'000}, nanoseconds(5)});
      for (std::uint32_t position = 0; position < 2; ++position)
        executor.add_worker(kind, program, {lane, position});
    }
    run_lanes(executor, jumps);
    return executor;
  };
  const auto check = [&](const auto& all, const auto& jumped) {
    CHECK(all.events() == 2 * (slices + disturbing));
    CHECK(all.events_skipped() == 0);
    CHECK(jumped.events() == all.events());
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      CHECK(jumped.finished(worker).ps == all.finished(worker).ps);
      for (const Cause cause : {Cause::latency, Cause::link, Cause::worker, Cause::slots})
        CHECK(jumped.finished(worker).of(cause) == all.finished(worker).of(cause));
    }
    for (std::uint32_t link = 0; link < 2; ++link)
      CHECK(jumped.carried(link).count == all.carried(link).count);
    const std::uint64_t simulated = jumped.events() - jumped.events_skipped();
    CHECK(simulated > 4 * disturbing);
    CHECK(simulated < 4 * disturbing + 4 * 64);
  };
  check(run(PlainStamp{}, false), run(PlainStamp{}, true));
  check(run(CausalStamp{}, false), run(CausalStamp{}, true));
}

TEST_CASE(
    "a machine that is rewound does what a new one does, of programs that say something else") {
  // Its links are busy, its slots used, and it has jumped, or its gates are open.
  Streams program;
  const auto build = [&](Executor<PlainStamp>& executor, bool has_gate) {
    const std::uint32_t kind = executor.add_worker_class({{1'000'000'000'000}, {}});
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      executor.add_link({{1'000'000'000'000}, nanoseconds(5)});
      for (std::uint32_t position = 0; position < 2; ++position)
        executor.add_worker(kind, program, {lane, position});
      executor.connect({2 * lane, 2 * lane + 1, 16, {&lane, 1}, {}, {}, nanoseconds(1), {}});
    }
    if (has_gate) executor.add_gate({{}, {{1}, {}}, nanoseconds(3), {{2}, {}}});
    executor.set_fast_forward(0);
  };
  for (const bool has_gate : {false, true}) {
    Executor<PlainStamp> again;
    build(again, has_gate);
    again.keep_start();
    std::uint64_t skipped = 0;
    for (const std::uint32_t slices : {5'000u, 3u, 700u}) {
      program.of_lane = {{{slices, Bytes{1000}}, {slices / 2, Bytes{1009}}}};
      again.rewind();
      again.run();
      Executor<PlainStamp> anew;
      build(anew, has_gate);
      anew.run();
      CHECK(again.events() == 2 * (slices + slices / 2));
      CHECK(again.digest() == anew.digest());
      CHECK(again.events_skipped() == anew.events_skipped());
      skipped += again.events_skipped();
      for (std::uint32_t worker = 0; worker < 4; ++worker)
        CHECK(again.finished(worker).ps == anew.finished(worker).ps);
      for (std::uint32_t link = 0; link < 2; ++link)
        CHECK(again.carried(link).count == anew.carried(link).count);
    }
    CHECK((skipped > 0) == !has_gate);
  }
}

TEST_CASE("what repeats in time and not in its causes is not jumped over where causes are told") {
  // Two streams take 1 ns for each slice, one on its link and one in its workers.
  constexpr std::uint32_t slices = 10'000;
  Streams program;
  program.of_lane = {{{slices, Bytes{1000}}, {slices, Bytes{1000}}}};
  const auto run = [&]<class Stamp>(Stamp, bool jumps) {
    Executor<Stamp> executor;
    const std::int64_t slow = 1'000'000'000'000, fast = 8 * slow;
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      executor.add_link({{lane == 0 ? slow : fast}, nanoseconds(5)});
      const std::uint32_t kind = executor.add_worker_class({{lane == 0 ? fast : slow}, {}});
      for (std::uint32_t position = 0; position < 2; ++position)
        executor.add_worker(kind, program, {lane, position});
    }
    run_lanes(executor, jumps);
    return executor;
  };
  CHECK(run(PlainStamp{}, true).events_skipped() > slices);
  const Executor<CausalStamp> all = run(CausalStamp{}, false), jumped = run(CausalStamp{}, true);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    CHECK(jumped.finished(worker).ps == all.finished(worker).ps);
    CHECK(jumped.finished(worker).parts == all.finished(worker).parts);
  }
  CHECK(all.finished(1).of(Cause::link) > all.finished(1).of(Cause::worker));
  CHECK(all.finished(3).of(Cause::worker) > all.finished(3).of(Cause::link));
}

TEST_CASE("workers that pause in step jump as they run") {
  // Three of them share a link; slices of two sizes, so that the first waves differ from the rest.
  constexpr std::uint32_t slices = 20'000;
  Streams program;
  program.of_lane = {{{slices, Bytes{1000}}, {slices, Bytes{3000}}}};
  const auto run = [&](std::uint32_t in_step_slices, bool jumps) {
    Executor<PlainStamp> executor;
    const std::uint32_t kind =
        executor.add_worker_class({{1'000'000'000'000}, {}, {}, true, true, in_step_slices});
    const std::uint32_t link = executor.add_link({{1'000'000'000'000}, nanoseconds(5)});
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      const std::uint32_t lane = worker == 2 ? 1 : 0;
      const std::uint32_t from = executor.add_worker(kind, program, {lane, 0});
      const std::uint32_t to = executor.add_worker(kind, program, {lane, 1});
      executor.connect({from, to, 4, {&link, 1}, nanoseconds(2), {}, nanoseconds(1), {}});
    }
    if (jumps) executor.set_fast_forward(0);
    executor.run();
    return executor;
  };
  for (const std::uint32_t in_step_slices : {0u, 500u}) {
    const Executor<PlainStamp> all = run(in_step_slices, false), jumped = run(in_step_slices, true);
    CHECK(jumped.events_skipped() > all.events() / 2);
    for (std::uint32_t worker = 0; worker < 6; ++worker)
      CHECK(jumped.finished(worker).ps == all.finished(worker).ps);
    CHECK(jumped.carried(0).count == all.carried(0).count);
  }
  CHECK(run(0, true).makespan().ps >= std::int64_t{slices} * (1000 + 1000 + 3000 + 2000));
  CHECK(run(500, true).makespan().ps < run(0, true).makespan().ps);
}
