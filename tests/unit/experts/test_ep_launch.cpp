// Goal: each way to call takes what it takes beside the kernels, and no more. Method: sums by hand
// of costs that differ in every digit.

#include <doctest/doctest.h>

#include "models/experts/ep_run.hpp"

using namespace fabricast;

namespace {

constexpr std::int64_t kUs = 1'000'000;
const EpLaunchCosts kCosts{{3 * kUs}, {kUs / 100}, {kUs / 2}, {21 * kUs}};
constexpr Duration kIdle{5 * kUs};

/// In us, beside kernels of 100 us with 100 tokens: the layout takes 3 + 1 us.
double beside(EpLaunch launch, EpMode mode, EpPhase phase, std::int64_t kernels_us = 100) {
  return microseconds_of(launch_time(kCosts, launch, mode, phase, 100, kIdle, {kernels_us * kUs}));
}

}  // namespace

TEST_CASE("experts: kernels alone are what was measured") {
  for (int mode = 0; mode < kEpKernelModes; ++mode)
    for (const EpPhase phase : {EpPhase::dispatch, EpPhase::combine})
      CHECK(beside(EpLaunch::kernels, static_cast<EpMode>(mode), phase) == 0);
}

TEST_CASE("experts: normal kernels lay out, and wait for the CPU outside of graphs") {
  const auto dispatch = [](EpLaunch launch) {
    return beside(launch, EpMode::normal, EpPhase::dispatch);
  };
  CHECK(dispatch(EpLaunch::graph) == 0.5 + 4);       // a gap, the layout
  CHECK(dispatch(EpLaunch::stream) == 0.5 + 4 + 5);  // and a launch once counts are read
  CHECK(dispatch(EpLaunch::one_shot) == 5 + 4 + 5);  // which the layout has, too
  // Combine knows all that from dispatch.
  CHECK(beside(EpLaunch::graph, EpMode::normal, EpPhase::combine) == 0);
  CHECK(beside(EpLaunch::stream, EpMode::normal, EpPhase::combine) == 0);
  CHECK(beside(EpLaunch::one_shot, EpMode::normal, EpPhase::combine) == 5);
}

TEST_CASE("experts: there and back, where the CPU is counted elsewhere") {
  const auto both = [](EpLaunch launch, EpMode mode, bool has_handle) {
    return microseconds_of(round_trip_launch(kCosts, launch, mode, 100, kIdle, has_handle));
  };
  CHECK(both(EpLaunch::stream, EpMode::normal, false) == 0.5 + 4 + 5);
  CHECK(both(EpLaunch::stream, EpMode::normal, true) == 0);  // backwards: layout and counts known
  CHECK(both(EpLaunch::graph, EpMode::normal, false) == 0.5 + 4);
  CHECK(both(EpLaunch::stream, EpMode::hybrid, false) == 5);
  CHECK(both(EpLaunch::graph, EpMode::low_latency, false) == 0.5 + 0.5);
  CHECK(both(EpLaunch::kernels, EpMode::normal, false) == 0);
}

TEST_CASE("experts: other kernels have no layout of their own") {
  CHECK(beside(EpLaunch::graph, EpMode::hybrid, EpPhase::dispatch) == 0);
  CHECK(beside(EpLaunch::stream, EpMode::hybrid, EpPhase::dispatch) == 5);
  CHECK(beside(EpLaunch::stream, EpMode::v2, EpPhase::dispatch) == 5);
  CHECK(beside(EpLaunch::graph, EpMode::low_latency, EpPhase::dispatch) == 0.5);
  CHECK(beside(EpLaunch::graph, EpMode::low_latency, EpPhase::combine) == 0.5);
  CHECK(beside(EpLaunch::one_shot, EpMode::low_latency, EpPhase::dispatch) == 5);
  CHECK(beside(EpLaunch::graph, EpMode::nvlink, EpPhase::dispatch) == 0);
  CHECK(beside(EpLaunch::one_shot, EpMode::nvlink, EpPhase::combine) == 5);
}

TEST_CASE("experts: calls on a stream are no faster than the framework makes them") {
  CHECK(beside(EpLaunch::stream, EpMode::low_latency, EpPhase::dispatch, 13) == 8);  // 21 - 13
  CHECK(beside(EpLaunch::stream, EpMode::low_latency, EpPhase::dispatch, 40) == 0.5);
  CHECK(beside(EpLaunch::graph, EpMode::low_latency, EpPhase::dispatch, 13) == 0.5);
}

TEST_CASE("experts: a launch is a resource of its own, and the others share what is left") {
  EpResult result;
  result.time = {30 * kUs};
  result.fixed = {15 * kUs};
  result.resources = {{"NVLink", "link", 0.8}, {"fixed costs", "every rank", 0.5}};
  add_launch(result, {});
  CHECK(result.resources.size() == 2);
  add_launch(result, {90 * kUs});
  CHECK(result.time.ps == 120 * kUs);
  CHECK(result.launch.ps == 90 * kUs);
  CHECK(result.fixed.ps == 15 * kUs);
  REQUIRE(result.resources.size() == 3);
  CHECK(result.resources[0].name == "launch");
  CHECK(result.resources[0].share == doctest::Approx(0.75));
  CHECK(result.resources[1].share == doctest::Approx(0.2));
}
