// Goal: DCQCN's rate moves as its rules say (vectors T-60, T-61).
// Method: event by event, as the vectors write them: D is a check that saw a notification, T the
// increase timer.

#include "sim/packet/dcqcn.hpp"

#include <string>
#include <utility>

#include "tests/unit/sim/fabric_vectors.hpp"

using namespace fabricast;

namespace {

/// Line 100, g = 1/256, F = 1, R_AI 0.005, R_HAI 0.05 in units of 1e9 B/s. One alpha period per
/// reduce period, so that a notification per D keeps alpha where it is.
DcqcnSpec vector_spec() {
  DcqcnSpec spec;
  spec.gain = 1.0 / 256;
  spec.alpha_at_first = 1;
  spec.alpha_period = spec.reduce_period;
  spec.increase_bytes = {};
  spec.additive = {5'000'000};
  spec.hyper = {50'000'000};
  return spec;
}

struct Machine {
  DcqcnSpec spec = vector_spec();
  Dcqcn control{spec, gigabytes(100)};
  Instant now;

  void play(const std::string& events) {
    for (const char event : events) {
      if (event == 'T') {
        control.increase_by_time();
      } else {
        CHECK_FALSE(control.notify(now));
        now = now + spec.reduce_period;
      }
    }
  }
  double rate() const { return control.rate() * 1e-9; }
  double target() const { return control.target() * 1e-9; }
};

}  // namespace

TEST_CASE("T-60: cuts and increases") {
  const std::pair<const char*, double> rates[] = {{"D", 50},         {"DD", 25},
                                                  {"DDT", 62.5},     {"DDTT", 81.25},
                                                  {"DDTTT", 90.625}, {"DDTTTT", 95.3125}};
  for (const auto& [events, rate] : rates) {
    Machine machine;
    machine.play(events);
    check_vector("T-60", fmt::format("Rc after {}", events), "DCQCN", machine.rate(), rate, 1e-12);
    check_vector("T-60", fmt::format("Rt after {}", events), "DCQCN", machine.target(), 100, 1e-12);
  }
  const double alternating[][2] = {{100, 50},   {100, 75},       {75, 37.5},
                                   {75, 56.25}, {56.25, 28.125}, {56.25, 42.1875}};
  Machine machine;
  std::string events;
  for (const auto& [target, rate] : alternating) {
    const char* next = events.size() % 2 == 0 ? "D" : "T";
    events += next;
    machine.play(next);
    check_vector("T-60", fmt::format("Rt after {}", events), "DCQCN", machine.target(), target,
                 1e-12);
    check_vector("T-60", fmt::format("Rc after {}", events), "DCQCN", machine.rate(), rate, 1e-12);
  }
}

TEST_CASE("T-60: alpha decays in 64 quiet periods") {
  Machine machine;
  machine.play("D");
  machine.now = machine.now + machine.spec.alpha_period * 64;
  machine.play("D");
  check_vector("T-60", "alpha after 64 periods", "DCQCN", machine.control.alpha(), 0.77842, 1e-5);
  check_vector("T-60", "Rc then cut", "DCQCN", machine.rate(), 30.5395, 1e-5);
}

TEST_CASE("T-61: half-life of alpha") {
  const auto half_life = [](const DcqcnSpec& spec) {
    Dcqcn control(spec, gigabytes(50));
    Instant now;
    control.notify(now);
    now = now + spec.alpha_period;  // the period that saw the notification
    const double start = spec.alpha_at_first;
    int periods = 0;
    while (control.alpha() > start / 2) {
      now = now + spec.alpha_period;
      ++periods;
      Dcqcn probe = control;
      probe.reduce(now);
      if (probe.alpha() <= start / 2) break;
    }
    return periods;
  };
  // Whole periods: the first at which alpha is at most half.
  check_vector("T-61", "half-life, g = 1/256, periods", "DCQCN", half_life(vector_spec()), 177.1,
               0.01);
  check_vector("T-61", "half-life, NIC defaults, us", "DCQCN", half_life(DcqcnSpec{}), 141.6, 0.01);
}

TEST_CASE("a notification inside the reduce period waits for its end, and cuts once") {
  Machine machine;
  CHECK_FALSE(machine.control.notify({}));
  const auto due = machine.control.notify(Instant{} + microseconds(1));
  REQUIRE(due.has_value());
  CHECK(*due == Instant{} + machine.spec.reduce_period);
  CHECK_FALSE(machine.control.notify(Instant{} + microseconds(2)));
  CHECK(machine.rate() == 50);
  machine.control.reduce(*due);
  CHECK(machine.rate() == 25);
}

TEST_CASE("no cut is deeper than cut_max, no rate below the least") {
  DcqcnSpec spec = vector_spec();
  spec.cut_max = 0.1;
  spec.rate_min = gigabytes(80);
  Dcqcn control(spec, gigabytes(100));
  Instant now;
  for (const double expected : {90.0, 81.0, 80.0}) {
    control.notify(now);
    now = now + spec.reduce_period;
    CHECK(control.rate() * 1e-9 == doctest::Approx(expected));
  }
}

TEST_CASE("bytes increase the rate as the timer does, each with its own count") {
  DcqcnSpec spec = vector_spec();
  spec.increase_bytes = {1'000};
  Dcqcn control(spec, gigabytes(100));
  control.notify({});
  control.count({999});
  CHECK(control.rate() * 1e-9 == 50);
  control.count({1});
  CHECK(control.rate() * 1e-9 == 75);
}
