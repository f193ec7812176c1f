// Goal: how far a run's times jump is told from their growth.
// Method: growth that is even says nothing, whatever its steps; seeded noise is found again.

#include "models/studies/accuracy/run_scatter.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace fabricast;

namespace {

/// Times over 40 sizes, each four times the one before or twice it, with noise on top.
double scatter_of(double noise, int points = 40) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  Measurements out;
  out.runs.resize(2);
  std::int64_t size = 8;
  for (int i = 0; i < points; ++i, size *= i % 3 == 0 ? 4 : 2) {
    const double even = 10 * std::pow(static_cast<double>(size), 0.5);
    out.points.push_back({1, Bytes{size}, "float", even * std::exp(noise * normal(random))});
    if (size > std::int64_t{1} << 50) size = 9;
  }
  const std::vector<double> both = run_scatter(out);
  CHECK(both[0] == 0);  // no points
  return both[1];
}

}  // namespace

TEST_CASE("run scatter: noise, not growth") {
  CHECK(scatter_of(0) == doctest::Approx(0).epsilon(1e-9));
  CHECK(scatter_of(0.05) == doctest::Approx(0.05).epsilon(0.35));
  CHECK(scatter_of(0.3) == doctest::Approx(0.3).epsilon(0.35));
  CHECK(scatter_of(0.3, 6) == 0);  // four between two others tell nothing
}

TEST_CASE("run scatter: one jump in many steady points is no noise") {
  Measurements steady;
  steady.runs.resize(1);
  for (int i = 0; i < 12; ++i) steady.points.push_back({0, Bytes{8LL << i}, "float", 10});
  steady.points[5].time_us = 80;
  CHECK(run_scatter(steady)[0] == 0);
}
