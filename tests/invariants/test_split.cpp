// One group of all ranks is the job itself: what runs groups side by side answers as what runs one.

#include <doctest/doctest.h>

#include "tests/invariants/cases.hpp"

namespace fabricast::testing {
namespace {

TEST_CASE("a split into one group takes the time of the call without a split") {
  Dice random(57);
  const std::vector<std::string> presets = preset_names();
  int compared = 0;
  for (int i = 0; i < random_cases(40); ++i) {
    BenchConfig config = bench_of(presets[static_cast<std::size_t>(i) % presets.size()],
                                  static_cast<int>(random.pick(1, 4)),
                                  {Bytes{std::int64_t{1} << random.pick(10, 25)}});
    config.collectives = {random.of(kAllCollectives)};
    config.datatype = "half";
    const std::vector<BenchRow> whole = run_bench(config, shipped_parts()).blocks.front().rows;
    config.split = parse_split("&0x0");
    const std::vector<BenchRow> group = run_bench(config, shipped_parts()).blocks.front().rows;
    CAPTURE(config.topology);
    CAPTURE(config.nodes.front());
    CAPTURE(to_text(config.collectives.front()));
    CAPTURE(config.sizes.front().count);
    REQUIRE(whole.size() == group.size());
    for (std::size_t row = 0; row < whole.size(); ++row, ++compared) {
      CHECK(whole[row].result.time == group[row].result.time);
      CHECK(whole[row].algorithm() == group[row].algorithm());
      CHECK(whole[row].working_channels() == group[row].working_channels());
    }
  }
  CHECK(compared >= 35);
}

TEST_CASE("a split into one group: NVLS over an NVLink domain of several nodes") {
  for (const char* preset : {"gb200-nvl72", "gb300-nvl72"}) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      BenchConfig config = bench_of(preset, 8, {Bytes{1 << 22}, Bytes{1 << 25}}, kNccl2_27_7);
      config.collectives = {collective};
      config.environment.set("NCCL_ALGO=NVLS");
      CAPTURE(preset);
      CAPTURE(to_text(collective));
      const std::vector<BenchRow> whole = run_bench(config, shipped_parts()).blocks.front().rows;
      config.split = parse_split("&0x0");
      const std::vector<BenchRow> group = run_bench(config, shipped_parts()).blocks.front().rows;
      for (std::size_t row = 0; row < whole.size(); ++row)
        CHECK(whole[row].result.time == group[row].result.time);
    }
  }
}

}  // namespace
}  // namespace fabricast::testing
