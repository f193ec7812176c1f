#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "models/io/workloads/load_engines.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/cutover/cutover_text.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

CutoverConfig question(std::vector<int> nodes, std::vector<Bytes> sizes) {
  CutoverConfig out;
  out.topology = "dgx-h100";
  out.version = kNccl2_21_5;
  out.nodes = std::move(nodes);
  out.sizes = std::move(sizes);
  return out;
}

/// The time that bench gives when the environment forces this algorithm and protocol.
double forced_us(const CutoverConfig& config, int nodes, Bytes size, const Contender& contender) {
  BenchConfig bench;
  bench.topology = config.topology;
  bench.version = config.version;
  bench.nodes = {nodes};
  bench.sizes = {size};
  bench.environment.set("NCCL_ALGO", std::string(to_text(contender.algorithm)));
  bench.environment.set("NCCL_PROTO", std::string(to_text(contender.protocol)));
  const BenchResult result = run_bench(bench, load_catalogue());
  return microseconds_of(result.blocks.front().rows.front().call_time());
}

}  // namespace

TEST_CASE("cutover: each time is that of bench with the algorithm forced" *
          minutes_under_sanitizers()) {
  const CutoverConfig config = question({1, 2}, {{1 << 10}, {1 << 20}, {1 << 24}});
  const CutoverResult result = run_cutover(config, load_catalogue(), in_turn);
  int compared = 0;
  for (const CutoverColumn& column : result.columns) {
    for (const auto& cell : column.cells) {
      REQUIRE(cell);
      for (std::size_t i = 0; i < cell->times.size(); ++i) {
        if (!cell->times[i]) continue;
        CAPTURE(column.nodes);
        CAPTURE(cell->size.count);
        CAPTURE(to_text(result.contenders[i]));
        CHECK_FALSE(cell->times[i]->extrapolated);
        CHECK(cell->times[i]->time_us ==
              forced_us(config, column.nodes, cell->size, result.contenders[i]));
        CHECK(cell->times[*cell->fastest]->time_us <= cell->times[i]->time_us);
        ++compared;
      }
    }
  }
  CHECK(compared >= 36);
}

TEST_CASE("cutover: on one side the one is ahead, on the other side the other" *
          minutes_under_sanitizers()) {
  const CutoverConfig config = question({2}, {{1 << 14}, {1 << 18}, {1 << 21}, {1 << 25}});
  const CutoverResult result = run_cutover(config, load_catalogue(), in_turn);
  const CutoverColumn& column = result.columns.front();
  REQUIRE_FALSE(column.fastest.empty());
  for (const Cutover& cutover : column.fastest) {
    const auto us = [&](std::size_t contender, Bytes size) {
      return forced_us(config, 2, size, result.contenders[contender]);
    };
    const auto above = std::ranges::upper_bound(config.sizes, cutover.size, {},
                                                [](Bytes size) { return Bytes{size.count + 1}; });
    const Bytes before = *std::prev(above);  // the largest size of the question below it
    CHECK(us(cutover.to, cutover.size) <= us(cutover.from, cutover.size));
    CHECK(us(cutover.from, before) <= us(cutover.to, before));
    CHECK(cutover.first <= cutover.size);
    CHECK(cutover.last >= cutover.size);
  }
}

TEST_CASE("cutover: what is extrapolated is near what is simulated" * minutes_under_sanitizers()) {
  CutoverConfig config = question({1, 2, 4}, {{1 << 24}, {1 << 25}, {1 << 26}, {1 << 27}});
  const CutoverResult exact = run_cutover(config, load_catalogue(), in_turn);
  int extrapolated = 0;
  for (const std::int64_t slices : {500, 1'000, 2'000, 4'000, 8'000}) {
    config.slices_max = slices;
    const CutoverResult thin = run_cutover(config, load_catalogue(), in_turn);
    for (std::size_t c = 0; c < exact.columns.size(); ++c) {
      for (std::size_t k = 0; k < exact.columns[c].cells.size(); ++k) {
        for (std::size_t i = 0; i < exact.contenders.size(); ++i) {
          const auto& full = exact.columns[c].cells[k]->times[i];
          const auto& line = thin.columns[c].cells[k]->times[i];
          if (!full || !line || !line->extrapolated) continue;
          ++extrapolated;
          CAPTURE(to_text(exact.contenders[i]));
          CAPTURE(exact.columns[c].nodes);
          CAPTURE(config.sizes[k].count);
          CHECK(line->time_us / full->time_us == doctest::Approx(1).epsilon(0.15));
        }
      }
    }
  }
  CHECK(extrapolated > 10);
}

TEST_CASE("cutover: a variant of the fabric, and SHARP") {
  CutoverConfig config = question({2}, {{1 << 20}});
  config.latency_factor = 3;
  const auto slow = run_cutover(config, load_catalogue(), in_turn);
  const auto usual = run_cutover(question({2}, {{1 << 20}}), load_catalogue(), in_turn);
  const auto best = [](const CutoverResult& result) {
    const CutoverCell& cell = *result.columns.front().cells.front();
    return cell.times[*cell.fastest]->time_us;
  };
  CHECK(best(slow) > best(usual));
  const auto variants = cutover_sensitivity(question({2}, {{1 << 20}}), load_catalogue(), in_turn);
  REQUIRE(variants.size() == 4);
  CHECK(variants[2].name == "SHARP");
  CHECK(variants[2].result.contenders.size() > usual.contenders.size());
  CHECK(variants[3].name == "4 of 8 NICs");
  CHECK(best(variants[3].result) > best(usual));
}

TEST_CASE("cutover: json holds what the map shows; what has no algorithms is refused") {
  const CutoverResult result =
      run_cutover(question({1}, {{1 << 12}, {1 << 28}}), load_catalogue(), in_turn);
  const Report report = cutover_report(result);
  CHECK(report.table("choices").at(0, "fastest") ==
        to_text(result.contenders[*result.columns[0].cells[0]->fastest]));
  CHECK(report.table("choices").at(0, "nodes") == 1);
  CutoverConfig config = question({1}, {{1 << 12}});
  config.collective = Collective::alltoall;
  CHECK(error_text([&] { run_cutover(config, load_catalogue(), in_turn); }) ==
        "alltoall is sends and receives: no algorithm to choose\n"
        "hint: all_reduce, all_gather, reduce_scatter, broadcast and reduce have several");
}

TEST_CASE("cutover: a budget that suffices changes nothing, a small one extrapolates and says so" *
          minutes_under_sanitizers()) {
  CutoverConfig config = question({2}, {{1 << 20}, {64 << 20}, {512 << 20}});
  config.gpus_per_node = 2;
  const CutoverResult whole = run_cutover(config, load_catalogue(), in_turn);
  config.budget = Duration{1'000'000'000'000'000};
  CHECK(cutover_text(run_cutover(config, load_catalogue(), in_turn), {}) ==
        cutover_text(whole, {}));
  config.budget = Duration{1'000'000};
  const CutoverResult some = run_cutover(config, load_catalogue(), in_turn);
  const auto says = [&](const char* what) {
    return std::ranges::any_of(
        some.notes, [&](const std::string& note) { return note.find(what) != std::string::npos; });
  };
  CHECK(says("calls of more than 10000 slices are extrapolated"));
  CHECK(says("where lines between two sizes cross"));
  int extrapolated = 0;
  for (std::size_t cell = 0; cell < config.sizes.size(); ++cell) {
    const CutoverCell &exact = *whole.columns.front().cells[cell],
                      &cheap = *some.columns.front().cells[cell];
    for (std::size_t i = 0; i < exact.times.size(); ++i) {
      CAPTURE(exact.size.count);
      CAPTURE(to_text(whole.contenders[i]));
      REQUIRE(exact.times[i].has_value() == cheap.times[i].has_value());  // none is lost
      if (!exact.times[i]) continue;
      const double ratio = cheap.times[i]->time_us / exact.times[i]->time_us;
      if (!cheap.times[i]->extrapolated) CHECK(ratio == 1);
      CHECK(ratio == doctest::Approx(1).epsilon(0.15));  // docs/scale.md, "What is too large"
      extrapolated += cheap.times[i]->extrapolated;
    }
  }
  CHECK(extrapolated > 0);
}

TEST_CASE("cutover: registered buffers of two nodes are NVLS in place, in the time of bench -R 1" *
          minutes_under_sanitizers()) {
  const AskedRegistration asked{Registration::local, load_engines()};
  CutoverConfig config = question({1, 2}, {{1 << 20}, {256 << 20}});
  config.version = kNccl2_27_7;
  config.registered = asked;
  const CutoverResult result = run_cutover(config, load_catalogue(), in_turn);
  const auto contender =
      std::ranges::find(result.contenders, Registration::local, &Contender::registered);
  REQUIRE(contender != result.contenders.end());
  const auto at = static_cast<std::size_t>(contender - result.contenders.begin());
  int compared = 0;
  for (const CutoverColumn& column : result.columns) {
    for (const auto& cell : column.cells) {
      BenchConfig bench;
      bench.topology = config.topology;
      bench.version = config.version;
      bench.nodes = {column.nodes};
      bench.sizes = {cell->size};
      bench.registered = asked;
      const BenchRow row = run_bench(bench, load_catalogue()).blocks.front().rows.front();
      REQUIRE(cell->times[at].has_value() == row.is_registered());  // else the plain call is taken
      if (!row.is_registered()) continue;
      CHECK(cell->times[at]->time_us == microseconds_of(row.call_time()));
      compared += column.nodes;
    }
  }
  CHECK(compared >= 3);  // of one node and of two
}
