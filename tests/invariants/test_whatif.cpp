// What `whatif` says of before and after is what `bench`, or `step`, says of each, in text, CSV and
// JSON alike; and what changes are worth adds up to the difference.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/csv_table.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/whatif/whatif_text.hpp"
#include "tests/invariants/cases.hpp"
#include "tests/unit/training/training_cases.hpp"

namespace fabricast::testing {
namespace {

constexpr const char* kChanges[] = {
    "NCCL_ALGO=Ring",       "NCCL_ALGO=Tree",         "NCCL_PROTO=Simple", "NCCL_PROTO=LL128,LL",
    "NCCL_NVLS_ENABLE=0",   "NCCL_BUFFSIZE=1048576",  "NCCL_NTHREADS=256", "NCCL_MIN_NCHANNELS=8",
    "NCCL_MAX_NCHANNELS=2", "NCCL_NET_GDR_LEVEL=LOC", "NCCL_CROSS_NIC=1",  "NCCL_P2P_LEVEL=LOC"};

/// One to three changes of the setup.
Job changed(Dice& random, Job setup) {
  const NcclVersion newer[] = {kNccl2_27_7, kDefaultNccl};
  if (random.pick(0, 3) == 0) setup.version = random.of(newer);
  for (auto i = random.pick(1, 2); i > 0; --i) setup.environment.set(random.of(kChanges));
  return setup;
}

BenchConfig drawn_bench(Dice& random) {
  BenchConfig config = bench_of(random.of(preset_names()), static_cast<int>(random.pick(1, 2)),
                                {Bytes{std::int64_t{1} << random.pick(10, 24)}});
  config.collectives = {random.of(kAllCollectives)};
  return config;
}

void check_sums(const WhatifRow& row) {
  double in_order = 0, shapley = 0;
  for (const Worth& worth : row.worths) {
    if (!worth.shapley_us) return;  // NCCL refuses every order
    in_order += worth.in_order_us.value_or(0);
    shapley += *worth.shapley_us;
  }
  const auto is_refused = [](const Worth& worth) { return !worth.in_order_us; };
  const double whole = row.before.time_us - row.after.time_us;
  if (std::ranges::none_of(row.worths, is_refused))
    CHECK(in_order == doctest::Approx(whole).epsilon(1e-9).scale(row.before.time_us));
  CHECK(shapley == doctest::Approx(whole).epsilon(1e-9).scale(row.before.time_us));
}

/// Three texts, one answer.
void check_texts(const WhatifResult& result, const Job& before, const Job& after) {
  const std::string text = whatif_text(result);
  const Report report = whatif_report(result, before, after);
  const ReportTable &both = report.table("before_and_after"), &rows = report.table("rows");
  const CsvTable csv(report_csv(report), "whatif.csv");
  std::size_t line = 0;
  for (std::size_t r = 0; r < result.rows.size(); ++r) {
    const WhatifRow& row = result.rows[r];
    CHECK(both.at(r, "before_us") == row.before.time_us);
    CHECK(both.at(r, "after_us") == row.after.time_us);
    for (std::size_t f = 0; f < row.worths.size(); ++f, ++line) {
      if (!row.worths[f].alone_us) {
        CHECK(rows.at(line, "alone_us").is_null());
        CHECK(csv.row(line).text("alone_us").empty());
        continue;
      }
      const double alone = *row.worths[f].alone_us;
      CHECK(rows.at(line, "alone_us") == alone);
      REQUIRE(line < csv.rows());
      CHECK(csv.row(line).text("before_us") == fmt::format("{:.3f}", row.before.time_us));
      CHECK(csv.row(line).text("alone_us") == fmt::format("{:.3f}", alone));
      const char* const word = alone > 0 ? "saves" : "costs";
      if (alone != 0 && row.before.collective)
        CHECK(text.find(fmt::format("{} {:.2f}", word, std::abs(alone))) != std::string::npos);
    }
  }
  CHECK(line == csv.rows());
}

/// Why there is no answer; "" = there is one.
template <class Run>
std::string refusal(const Run& run) {
  try {
    run();
    return {};
  } catch (const Error& error) {
    return error.reason();
  }
}

TEST_CASE("whatif of two setups is bench of the one and bench of the other") {
  Dice random(77);
  int seen = 0;
  for (int i = 0; i < random_cases(60); ++i) {
    const BenchConfig before = drawn_bench(random);
    const Job to = changed(random, job_of(before));
    const Work after = with_job(before, to);
    CAPTURE(before.topology);
    CAPTURE(to_text(before.collectives.front()));
    CAPTURE(before.sizes.front().count);
    CAPTURE(to_text(to.version));
    std::string variables;
    for (const auto& [name, value] : to.environment.variables())
      variables += name + "=" + value + " ";
    CAPTURE(variables);
    BenchResult one, other;
    WhatifResult both;
    const std::string refused = refusal([&] {
      one = run_bench(before, shipped_parts());
      other = run_bench(std::get<BenchConfig>(after), shipped_parts());
    });
    const std::string why =
        refusal([&] { both = run_whatif(before, after, shipped_parts(), {}, in_turn); });
    if (why.empty()) {
      REQUIRE(refused.empty());
      REQUIRE(both.rows.size() == one.blocks.front().rows.size());
      for (std::size_t r = 0; r < both.rows.size(); ++r) {
        ++seen;
        CHECK(both.rows[r].before.time_us ==
              microseconds_of(one.blocks.front().rows[r].call_time()));
        CHECK(both.rows[r].after.time_us ==
              microseconds_of(other.blocks.front().rows[r].call_time()));
        check_sums(both.rows[r]);
      }
      check_texts(both, before, to);
    } else {
      // Of one change, before or after is refused; of several it may be what lies between them.
      CAPTURE(why);
      const bool same = why == "before and after are the same: nothing to compare";
      if (!same && factors_between(job_of(before), to).size() == 1) CHECK(!refused.empty());
    }
  }
  CHECK(seen >= random_cases(60) / 3);
}

TEST_CASE("whatif of a step is step before and step after") {
  Dice random(78);
  const char* const machines[] = {"dgx-a100", "dgx-h100", "hgx-h200-2nic"};
  for (int i = 0; i < random_cases(6); ++i) {
    StepConfig before;
    before.model = test::gpt(8, 2048, 16);
    before.topology = random.of(machines);
    before.nodes = 2;
    const int tensor = 1 << random.pick(0, 3);
    before.layout = test::layout(16, tensor, 1, 1, 1, 16);
    before.layout.sharding = Sharding::zero1;
    const Work after = with_job(before, changed(random, job_of(before)));
    CAPTURE(before.topology);
    CAPTURE(tensor);
    WhatifResult both;
    if (!refusal([&] { both = run_whatif(before, after, shipped_parts(), {}, in_turn); }).empty())
      continue;
    REQUIRE(both.rows.size() == 1);
    const StepResult one = run_step(before, shipped_parts()),
                     other = run_step(std::get<StepConfig>(after), shipped_parts());
    CHECK(both.rows[0].before.time_us == microseconds_of(one.step.time));
    CHECK(both.rows[0].after.time_us == microseconds_of(other.step.time));
    check_sums(both.rows[0]);
    check_texts(both, before, job_of(after));
  }
}

}  // namespace
}  // namespace fabricast::testing
