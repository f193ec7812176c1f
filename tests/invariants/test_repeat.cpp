// A question asked twice has one answer, whoever asks beside it: what one row leaves behind in
// memos must not reach the next.

#include "tests/invariants/cases.hpp"

#include <doctest/doctest.h>

namespace fabricast::testing {
namespace {

/// A preset on one or two nodes, a release that has kernels for all GPUs, a collective, a size.
BenchConfig drawn_bench(Dice& random) {
  const std::vector<std::string> presets = preset_names();
  const auto at = random.pick(0, static_cast<std::int64_t>(presets.size()) - 1);
  BenchConfig config =
      bench_of(presets[static_cast<std::size_t>(at)], static_cast<int>(random.pick(1, 2)),
               {Bytes{std::int64_t{1} << random.pick(3, 26)}});
  config.collectives = {random.of(kAllCollectives)};
  return config;
}

TEST_CASE("a row alone takes the picoseconds that it takes among others") {
  Dice random(2026);
  for (int i = 0; i < random_cases(40); ++i) {
    BenchConfig config = drawn_bench(random);
    CAPTURE(config.topology);
    CAPTURE(to_text(config.collectives.front()));
    CAPTURE(config.sizes.front().count);
    const BenchResult alone = run_bench(config, shipped_parts());
    const Bytes size = config.sizes.front();
    config.sizes = {Bytes{3 << 20}, size, Bytes{24}, size};
    const BenchResult among = run_bench(config, shipped_parts());
    const std::vector<BenchRow>& rows = among.blocks.front().rows;
    int seen = 0;
    for (const BenchRow& row : rows) {
      if (row.requested != size) continue;
      ++seen;
      CHECK(row.result.time == alone.blocks.front().rows.front().result.time);
      CHECK(row.result.digest == alone.blocks.front().rows.front().result.digest);
    }
    CHECK(seen == (alone.blocks.front().rows.empty() ? 0 : 2));
  }
}

}  // namespace
}  // namespace fabricast::testing
