// A prediction lies in its own band: whatever the hardware, the size, the number of calls in a
// group, one group or several; and the band is in the unit of the time beside it.

#include "models/io/bands/bands.hpp"

#include <doctest/doctest.h>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/training/step.hpp"
#include "tests/invariants/random_nodes.hpp"

namespace fabricast::testing {
namespace {

/// How many rows have a band, all of which hold their time.
int check_bands(const BenchConfig& config, const BandTable& bands) {
  const BenchResult result = run_bench(config, shipped_parts());
  int banded = 0;
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      const std::optional<TimeBand> band = time_band(result, block, row, bands);
      if (!band) continue;
      const double time_us = microseconds_of(row.call_time());
      CAPTURE(row.requested.count);
      CHECK(band->lower_us <= time_us);
      CHECK(time_us <= band->upper_us);
      CHECK(band->lower_us > 0);
      // Whether a band speaks of a network follows from what NCCL sees as nodes.
      const bool has_network = block.cluster.nodes() > 1 && !block.cluster.node().nics().empty();
      if (!has_network) {
        for (const char* network : {" ib", " roce", " efa", " cxi"})
          CHECK(band->basis.find(network) == std::string::npos);
      }
      ++banded;
    }
  }
  return banded;
}

TEST_CASE("bands: every band of the shipped table, on every kind of hardware, holds 1") {
  const BandTable bands = load_bands("");
  REQUIRE(bands.bands.size() > 50);
  int found = 0;
  std::vector<BandKey> keys;
  for (const Band& band : bands.bands) keys.push_back(band.key);
  for (const Band& band : bands.bands) {
    BandKey unknown = band.key;
    unknown.hardware = "no such GPU";
    keys.push_back(unknown);
  }
  for (const BandKey& key : keys) {
    const std::optional<FoundBand> band = find_band(bands, key);
    REQUIRE(band);
    CHECK(band->lower <= 1);
    CHECK(band->upper >= 1);
    ++found;
  }
  CHECK(found == 2 * static_cast<int>(bands.bands.size()));
}

TEST_CASE("bands: every preset, with one call and with several in a group, whole and split") {
  const BandTable bands = load_bands("");
  Dice random(4);
  int banded = 0;
  for (const std::string& preset : preset_names()) {
    const bool has_nics = !load_cluster({preset, 1, ""}, shipped_parts()).node().nics().empty();
    for (const int nodes : {1, 2, 4}) {
      if (nodes > 1 && !has_nics) continue;
      CAPTURE(preset);
      CAPTURE(nodes);
      BenchConfig config =
          bench_of(preset, nodes,
                   {Bytes{8}, Bytes{random.pick(1, 63) << 10}, Bytes{random.pick(1, 8) << 20}});
      config.collectives = {random.of(kRingCollectives)};
      banded += check_bands(config, bands);
      config.sizes = {Bytes{4 << 20}};
      config.calls = static_cast<int>(random.pick(2, 8));
      banded += check_bands(config, bands);
      config.calls = 1;
      config.split = parse_split("%2");
      banded += check_bands(config, bands);
    }
  }
  CHECK(banded > 100);
}

TEST_CASE("bands: of eight GPUs that one thread launches, those of launches") {
  BandTable bands;
  bands.bands.push_back({{"H100_SXM5 nvswitch", "none", "", 0, 9}, 0.9, 1.1, 3});
  bands.launches = Band{{}, 0.6, 1.4, 5};
  BenchConfig config = bench_of("dgx-h100", 1, {Bytes{1024}});
  const auto upper = [&](int gpus_per_thread, bool cuda_graph) {
    config.gpus_per_process = config.gpus_per_thread = gpus_per_thread;
    config.cuda_graph = cuda_graph;
    const BenchResult result = run_bench(config, shipped_parts());
    return band_of(result, result.blocks[0], result.blocks[0].rows[0], bands)->upper;
  };
  CHECK(upper(8, false) == 1.4);
  CHECK(upper(1, false) == 1.1);
  CHECK(upper(8, true) == 1.1);
}

TEST_CASE("bands: seeded nodes") {
  const BandTable bands = load_bands("");
  Dice random(44);
  int banded = 0;
  for (int i = 0; i < random_cases(30); ++i) {
    const std::string name = fmt::format("fabricast_banded_{}", i);
    const TemporaryFile file(name + ".yaml", RandomNode(random).text(name));
    CAPTURE(i);
    banded += check_bands(bench_of(file.path(), static_cast<int>(random.pick(1, 2)),
                                   {Bytes{random.pick(4, 1 << 20)}}),
                          bands);
  }
  CHECK(banded > 20);
}

TEST_CASE("bands: steps") {
  StepResult dense, experts;
  experts.config.model.experts.emplace();
  for (const StepResult& result : {dense, experts}) {
    CHECK(step_band(result).low <= 1);
    CHECK(step_band(result).high >= 1);
  }
}

}  // namespace
}  // namespace fabricast::testing
