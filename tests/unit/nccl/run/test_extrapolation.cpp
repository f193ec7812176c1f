// Goal: the time of a call is carried on from fewer nodes by one rule, and the bounds hold both
// ends of it. Method: times given by hand, the bounds derived beside each case.

#include "models/nccl/run/extrapolation.hpp"

#include <doctest/doctest.h>

using namespace fabricast;

namespace {

constexpr TimeRange exactly(std::int64_t ps) { return {{ps}, {ps}}; }

double share(Duration time, std::int64_t of) {
  return static_cast<double>(time.ps) / static_cast<double>(of);
}

/// From 16 nodes over so many doublings.
double beyond(int doublings) { return kBeyond + kFewNodes / 16 + kEachDoubling * doublings; }

}  // namespace

TEST_CASE("extrapolation: what takes as many times what is known everywhere does so further on") {
  // 1.5 times what is known on 8 and on 16 nodes: 1.5 x 4,000,000 on 64, and 2 % + 0.4 / 16 on
  // either side.
  const MeasuredCall more{16, exactly(1'500'000), exactly(1'000'000)};
  const MeasuredCall less{8, exactly(600'000), exactly(400'000)};
  const TimeBounds found = extrapolated(more, less, 64, exactly(4'000'000));
  CHECK(share(found.lower, 4'000'000) == doctest::Approx(1.5 * (1 - beyond(2))));
  CHECK(share(found.upper, 4'000'000) == doctest::Approx(1.5 * (1 + beyond(2))));
}

TEST_CASE("extrapolation: it stays, or grows by as much with each doubling") {
  // 1.0 on 8, 1.1 on 16 nodes: 1.1 or, two doublings on, 1.3 on 64.
  const MeasuredCall more{16, exactly(1'100'000), exactly(1'000'000)};
  const MeasuredCall less{8, exactly(1'000'000), exactly(1'000'000)};
  const TimeBounds grows = extrapolated(more, less, 64, exactly(1'000'000));
  CHECK(share(grows.lower, 1'000'000) == doctest::Approx(1.1 * (1 - beyond(2))));
  CHECK(share(grows.upper, 1'000'000) == doctest::Approx(1.3 * (1 + beyond(2))));
  // 1.1 on 8, 1.0 on 16: 1.0 or 0.8.
  const TimeBounds falls =
      extrapolated({16, exactly(1'000'000), exactly(1'000'000)},
                   {8, exactly(1'100'000), exactly(1'000'000)}, 64, exactly(1'000'000));
  CHECK(share(falls.lower, 1'000'000) == doctest::Approx(0.8 * (1 - beyond(2))));
  CHECK(share(falls.upper, 1'000'000) == doctest::Approx(1.0 * (1 + beyond(2))));
}

TEST_CASE("extrapolation: bounds of what was measured and of what is known are kept") {
  // On 16 nodes 0.9 to 1.1 times what is known, on 8 the same: no step. What is known on 32 lies
  // 1 % below and above 1,000,000.
  const MeasuredCall more{16, {{900'000}, {1'100'000}}, exactly(1'000'000)};
  const MeasuredCall less{8, {{900'000}, {1'100'000}}, exactly(1'000'000)};
  const TimeBounds found = extrapolated(more, less, 32, {{990'000}, {1'010'000}});
  CHECK(share(found.lower, 1'000'000) == doctest::Approx(0.99 * 0.9 * (1 - beyond(1))));
  CHECK(share(found.upper, 1'000'000) == doctest::Approx(1.01 * 1.1 * (1 + beyond(1))));
}

TEST_CASE("extrapolation: what falls fast does not fall below half") {
  // 1.0 on 8, 0.1 on 16: two doublings on it would be below zero.
  const TimeBounds found =
      extrapolated({16, exactly(100'000), exactly(1'000'000)},
                   {8, exactly(1'000'000), exactly(1'000'000)}, 64, exactly(1'000'000));
  CHECK(share(found.lower, 1'000'000) == doctest::Approx(0.05 * (1 - beyond(2))));
}

TEST_CASE("extrapolation: fewer nodes are as far below a power of two, or half") {
  CHECK(fewer_nodes(1000) == 488);  // 1024 - 24, 512 - 24
  CHECK(fewer_nodes(488) == 232);
  CHECK(fewer_nodes(64) == 32);
  CHECK(fewer_nodes(600) == 300);  // 600 - 512 are less than two fifths
  CHECK(fewer_nodes(48) == 24);
  CHECK(fewer_nodes(3) == 1);
  CHECK(fewer_nodes(1) == 0);
}

TEST_CASE("narrowed bounds: what two smaller runs take of their twins, carried on as 1 / nodes") {
  const auto ring = [](int nodes, std::int64_t time) {
    return RingWithTwin{nodes, {time}, {500'000}};
  };
  const TimeBounds wide{{1'000'000}, {2'000'000}, 7, true, "twins"};
  // 0.92 of the twin's on 80 nodes and 0.9 on 160, so 0.89 on 320.
  const TimeBounds found =
      narrowed({ring(160, 450'000), ring(80, 460'000), {}}, 320, exactly(1'900'000), wide);
  const double beyond = kRing + kRingOfFew / 160;
  CHECK(share(found.lower, 1'900'000) == doctest::Approx(0.89 * (1 - beyond)));
  CHECK(share(found.upper, 1'900'000) == doctest::Approx(0.9 * (1 + beyond)));
  CHECK(found.events == 7);
  CHECK(found.how == "twins");
  CHECK_FALSE(found.is_proven);
  // With other bytes a ring takes a tenth less there: the whole one may take as much less or more.
  const TimeBounds apart =
      narrowed({ring(160, 450'000), ring(80, 460'000), {ring(80, 414'000), ring(80, 460'000)}}, 320,
               exactly(1'900'000), wide);
  CHECK(share(apart.lower, 1'900'000) == doctest::Approx(0.89 * 0.9 * (1 - beyond)));
  CHECK(share(apart.upper, 1'900'000) == doctest::Approx(0.9 / 0.9 * (1 + beyond)));
  // Where even chunks take 1.8 to 1.9.
  const TimeBounds unsure =
      narrowed({ring(160, 450'000), ring(80, 460'000), {}}, 320, {{1'800'000}, {1'900'000}}, wide);
  CHECK(share(unsure.lower, 1'800'000) == doctest::Approx(0.89 * (1 - beyond)));
  CHECK(unsure.upper == found.upper);
  // Not beyond the bounds themselves.
  const TimeBounds low =
      narrowed({ring(160, 250'000), ring(80, 250'000), {}}, 320, exactly(1'900'000), wide);
  CHECK(low.lower == wide.lower);
  CHECK(low.upper == wide.lower);
}
