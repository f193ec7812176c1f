// Goal: gates (sim/machines/gates.hpp) open when all that they wait for has ended, and say when.
// Method: a few gates, opened by hand.

#include <doctest/doctest.h>

#include <map>

#include "sim/machines/gates.hpp"

using namespace fabricast;

namespace {

/// Since when each worker has been going.
using Started = std::map<std::uint32_t, std::int64_t>;

GateSpec gate_of(std::vector<std::uint32_t> after, std::uint32_t waiter) {
  GateSpec out;
  out.after.workers = std::move(after);
  out.waiters.workers = {waiter};
  return out;
}

struct Opened {
  Gates<PlainStamp> gates;
  Started started;

  void ends(std::uint32_t worker, std::int64_t at) {
    gates.worker_ended(worker, PlainStamp{at}, [this](const Parties& waiters, PlainStamp from) {
      for (const std::uint32_t one : waiters.workers) started[one] = from.ps;
    });
  }
  void shut() {
    gates.shut([](const Parties&) {});
  }
};

}  // namespace

TEST_CASE("gates: a worker holds up several, each with its own delay") {
  Opened got;
  GateSpec launch = gate_of({1}, 7), freed = gate_of({1}, 8), both = gate_of({1, 2}, 9);
  launch.gap = {300};
  launch.start = {5'000};
  freed.lag = {40};
  both.gap = {300};
  both.lag = {40};
  for (const GateSpec& gate : {launch, freed, both}) got.gates.add(gate);
  got.shut();
  got.ends(3, 100);  // nobody waits for it
  CHECK(got.started.empty());
  got.ends(1, 1'000);
  CHECK(got.started == Started{{7, 5'000}, {8, 1'040}});
  got.ends(2, 900);  // earlier than the other that the gate waited for
  CHECK(got.started == Started{{7, 5'000}, {8, 1'040}, {9, 1'340}});
}
