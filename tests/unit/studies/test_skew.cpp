// Traces of ranks beside each other: clocks from common ends, waits apart from transfers. The
// stories are made, so that each figure is known.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>

#include "models/studies/skew/align_clocks.hpp"
#include "models/studies/skew/match_calls.hpp"
#include "models/studies/skew/skew.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

/// A collective that ends at `end_us` of the common clock; ranks' clocks are off.
CommonEnd end_at(double end_us, const std::vector<int>& ranks,
                 const std::vector<double>& offsets_us) {
  CommonEnd out;
  for (const int rank : ranks)
    out.push_back(
        {rank, std::llround((end_us + offsets_us[static_cast<std::size_t>(rank)]) * 1000)});
  return out;
}

std::string folder() { return fmt::format("{}/traces/ranks-4", FABRICAST_TEST_DATA); }

SkewResult skew_of(std::vector<RankTrace> traces) {
  static const PartsCatalogue parts = load_parts();
  Job job;
  job.topology = "dgx-h100";
  return find_skew(std::move(traces), "traces", job, parts);
}

std::vector<RankTrace> four_ranks() {
  std::vector<std::string> notes;
  std::vector<RankTrace> out = read_traces(trace_files(folder()), notes, in_turn);
  CHECK(notes.empty());
  return out;
}

}  // namespace

TEST_CASE("clocks: offsets come out of common ends, also over a chain of groups") {
  const std::vector<double> offsets = {0, 1500, -2000, 90000};
  std::vector<CommonEnd> ends;
  for (int i = 0; i < 5; ++i) {  // rank 3 meets rank 2 alone, rank 2 rank 1
    ends.push_back(end_at(100 * i, {0, 1}, offsets));
    ends.push_back(end_at(100 * i + 30, {1, 2}, offsets));
    ends.push_back(end_at(100 * i + 60, {2, 3}, offsets));
  }
  const AlignedClocks clocks = align_clocks(4, ends);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(clocks.ranks[rank].known);
    CHECK(clocks.ranks[rank].offset_ns == doctest::Approx(offsets[rank] * 1000).epsilon(1e-9));
  }
  CHECK(clocks.residual_ns == doctest::Approx(0));
  CHECK(clocks.ends == 15);
}

TEST_CASE("clocks: a stray end changes nothing, a rank alone is not known") {
  std::vector<CommonEnd> ends;
  for (int i = 0; i < 9; ++i) ends.push_back(end_at(100 * i, {0, 1}, {0, 70}));
  ends[4][1].end_ns += 5'000'000;
  const AlignedClocks clocks = align_clocks(3, ends);
  CHECK(clocks.ranks[1].offset_ns == doctest::Approx(70000).epsilon(1e-9));
  CHECK_FALSE(clocks.ranks[2].known);
}

TEST_CASE("clocks: a drift of 20 ppm is found") {
  std::vector<CommonEnd> ends;
  for (int i = 0; i < 60; ++i) {
    const double us = 50000.0 * i;  // three seconds
    ends.push_back(
        {{0, std::llround(us * 1000)}, {1, std::llround(us * 1000 * (1 + 20e-6) + 4000)}});
  }
  const AlignedClocks clocks = align_clocks(2, ends);
  CHECK(1e6 * (clocks.ranks[1].drift - clocks.ranks[0].drift) == doctest::Approx(20).epsilon(0.01));
  CHECK(clocks.residual_ns < 100);
}

TEST_CASE("groups: ranks as Kineto writes them, shortened beyond thirty") {
  CHECK(ranks_of_group("[0, 8, 16]", 3) == std::vector<int>{0, 8, 16});
  const std::vector<int> many = ranks_of_group("[1, 3, 5, ..., 79]", 40);
  REQUIRE(many.size() == 40);
  CHECK(many[39] == 79);
  CHECK(ranks_of_group("[1, 3, 5, ..., 80]", 40).empty());
  CHECK(ranks_of_group("[0, 8]", 3).empty());
  CHECK(ranks_of_group("", 2).empty());
}

TEST_CASE("skew: wait apart from transfer, the late rank, the clocks") {
  const SkewResult result = skew_of(four_ranks());
  // tests/data/traces/make_ranks.py: 4 ranks, 2 steps, 2 layers, an all-gather and an all-reduce.
  CHECK(result.calls == 8);
  CHECK(result.missing.empty());
  CHECK(result.world_size == 4);
  REQUIRE(result.rows.size() == 2);
  const SkewRow& reduce = result.rows[0];
  CHECK(reduce.line.call.collective == "all_reduce");
  CHECK(reduce.times == 4);
  CHECK(reduce.transfer_us == doctest::Approx(380).epsilon(1e-4));
  CHECK(result.rows[1].transfer_us == doctest::Approx(55).epsilon(1e-4));
  CHECK(reduce.wait_most_us > 380);  // 400 us late, less than 20 us of jitter
  CHECK(reduce.wait_most_us < 420);
  REQUIRE(reduce.line.time);
  REQUIRE(result.steps.size() == 2);
  for (const SkewStep& step : result.steps) {
    CHECK(step.slowest == 2);
    CHECK(step.calls == 4);
    CHECK(step.caused_us > 760);  // twice late in a step
    // The slowest rank computes until it comes: all of its transfers are exposed.
    CHECK(step.transfer_us == doctest::Approx(2 * (380 + 55)).epsilon(1e-4));
  }
  CHECK(result.ranks[3].offset_us == doctest::Approx(4537.5).epsilon(1e-4));
  CHECK(result.residual_us < 0.01);
  CHECK(result.early_ends == 0);
  CHECK_FALSE(skew_text(result).empty());
  CHECK(skew_report(result).table("ranks").rows().size() == 4);
}

TEST_CASE("skew: ranks and steps that are missing are named") {
  std::vector<RankTrace> traces = four_ranks();
  traces.erase(traces.begin() + 1);
  traces[0].steps.pop_back();
  const SkewResult result = skew_of(std::move(traces));
  CHECK(result.missing == std::vector<int>{1});
  CHECK(result.steps.size() == 1);
  CHECK(result.part == result.calls);
  const std::string text = skew_text(result);
  CHECK(text.find("# no trace of rank 1\n") != std::string::npos);
  CHECK(text.find("lacks step 11") != std::string::npos);
  CHECK(text.find("with members that have no trace") != std::string::npos);
}

TEST_CASE("skew: calls whose sizes differ from rank to rank are not compared") {
  std::vector<RankTrace> traces = four_ranks();
  traces[1].collectives[0].in_elements += 1;
  const SkewResult result = skew_of(std::move(traces));
  CHECK(result.calls == 7);
  CHECK(skew_text(result).find("1 call with another name or size") != std::string::npos);
}

TEST_CASE("skew: a folder without traces says so") {
  const std::string empty = fmt::format("{}/hosts", FABRICAST_TEST_DATA);
  CHECK(error_text([] { trace_files("no/such/folder"); }).starts_with("no/such/folder: cannot be"));
  std::vector<std::string> notes;
  CHECK(error_text([&] {
          read_traces(trace_files(empty), notes, in_turn);
        }).starts_with("traces of two ranks or more are needed:"));
}

}  // namespace fabricast
