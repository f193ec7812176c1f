// What `decide` says NCCL would choose is what `bench` simulates: algorithm, protocol, channels of
// the call, channels that get work, threads and elements. Whoever asks, NCCL is one.

#include "models/studies/decide/decide.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <map>
#include <tuple>

#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "tests/invariants/random_nodes.hpp"

namespace fabricast::testing {
namespace {

using Key = std::tuple<int, Collective, std::int64_t>;

std::string choice_text(std::string_view algorithm, Protocol protocol, int channels, int working,
                        int threads, std::int64_t count) {
  return fmt::format("{} {}, {} channels, {} with work, {} threads, {} elements", algorithm,
                     to_text(protocol), channels, working, threads, count);
}

std::map<Key, std::string> choices(const DecideResult& result) {
  std::map<Key, std::string> out;
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      const TunerDecision& d = row.decision;
      out[{block.communicator.hosts, row.collective, row.requested.count}] =
          d.algorithm ? choice_text(to_text(*d.algorithm), d.protocol, d.channels, row.channels,
                                    row.threads, row.count)
                      : "refused";
    }
  }
  return out;
}

/// Compares each row of a bench with that of decide; how many there were.
int compare(const BenchConfig& config) {
  const BenchResult bench = run_bench(config, shipped_parts());
  const std::map<Key, std::string> decided =
      choices(run_decide(decide_config(config), shipped_parts()));
  int compared = 0;
  for (const BenchBlock& block : bench.blocks) {
    for (const BenchRow& row : block.rows) {
      const CollectiveRun& run = row.decided.run;
      CAPTURE(to_text(row.collective));
      CAPTURE(row.requested.count);
      CHECK(choice_text(row.algorithm(), run.protocol, run.channels, row.working_channels(),
                        run.threads, row.count) ==
            decided.at({block.nodes, row.collective, row.requested.count}));
      ++compared;
    }
  }
  return compared;
}

std::string text_of(const Environment& environment) {
  std::string out;
  for (const auto& [name, value] : environment.variables()) out += name + "=" + value + " ";
  return out;
}

bool has_kernels_for(const std::string& preset, NcclVersion version) {
  const Cluster cluster = load_cluster({preset, 1, ""}, shipped_parts());
  return has_kernels(version, cluster.node().gpus().front().part.sm);
}

TEST_CASE("decide = bench: every preset and release, on one node and on two") {
  int compared = 0;
  for (const std::string& preset : preset_names()) {
    for (const NcclVersion version : kModelledVersions) {
      CAPTURE(preset);
      CAPTURE(to_text(version));
      if (!has_kernels_for(preset, version)) continue;
      const bool has_nics = !load_cluster({preset, 1, ""}, shipped_parts()).node().nics().empty();
      for (const int nodes : {1, 2}) {
        if (nodes > 1 && !has_nics) continue;
        BenchConfig config =
            bench_of(preset, nodes, {Bytes{8}, Bytes{1'000'000}, Bytes{4 << 20}}, version);
        config.collectives = {kRingCollectives.begin(), kRingCollectives.end()};
        compared += compare(config);
      }
    }
  }
  CHECK(compared > 800);
}

TEST_CASE("decide = bench: seeded nodes and environments, also where hosts fall apart") {
  Dice random(20);
  int compared = 0, apart = 0, refused = 0;
  for (int i = 0; i < random_cases(150); ++i) {
    const std::string name = fmt::format("fabricast_random_{}", i);
    const TemporaryFile file(name + ".yaml", RandomNode(random).text(name));
    BenchConfig config = bench_of(file.path(), static_cast<int>(random.pick(1, 3)),
                                  {Bytes{random.pick(1, 100'000)}, Bytes{random.pick(1, 8) << 18}},
                                  random.of(kModelledVersions));
    config.collectives = {random.of(kRingCollectives)};
    config.environment = random_environment(random);
    CAPTURE(i);
    CAPTURE(config.nodes.front());
    CAPTURE(to_text(config.version));
    CAPTURE(text_of(config.environment));
    try {
      compared += compare(config);
      const DecideResult decided = run_decide(decide_config(config), shipped_parts());
      apart += decided.blocks.front().communicator.graphs.topology.domains() > 1 ? 1 : 0;
    } catch (const Error& error) {
      ++refused;  // nothing is left to choose from, or what NCCL takes is not simulated
      INFO(error.what());
      const std::string what = error.what();
      CHECK((what.find("NCCL refuses") != std::string::npos ||
             what.find("not simulated") != std::string::npos ||
             what.find("takes none") != std::string::npos));
    }
  }
  CHECK(compared > 200);
  CHECK(apart > 15);
  CHECK(refused < random_cases(150) / 5);
}

TEST_CASE("2.21.5: a list in which no name is known is Ring and Tree, or Ring in every protocol") {
  const auto decided = [](const std::string& preset, std::initializer_list<const char*> variables) {
    BenchConfig config = bench_of(preset, 1, {}, kNccl2_21_5);
    for (int bits = 3; bits < 31; bits += 3) config.sizes.push_back(Bytes{std::int64_t{1} << bits});
    config.collectives = {kRingCollectives.begin(), kRingCollectives.end()};
    for (const char* assignment : variables) config.environment.set(assignment);
    return choices(run_decide(decide_config(config), shipped_parts()));
  };
  for (const std::string& preset : preset_names()) {
    CAPTURE(preset);
    CHECK(decided(preset, {"NCCL_ALGO=Foo"}) == decided(preset, {"NCCL_ALGO=Ring,Tree"}));
    CHECK(decided(preset, {"NCCL_ALGO="}) == decided(preset, {"NCCL_ALGO=Ring,Tree"}));
    CHECK(decided(preset, {"NCCL_PROTO=Foo"}) ==
          decided(preset, {"NCCL_ALGO=Ring", "NCCL_PROTO=LL,LL128,Simple"}));
    CHECK(decided(preset, {"NCCL_ALGO=Foo,NVLS"}) == decided(preset, {"NCCL_ALGO=NVLS"}));
  }
}

TEST_CASE("no kernels, no simulation: decide goes on, with a note") {
  int impossible = 0;
  for (const std::string& preset : preset_names()) {
    for (const NcclVersion version : kModelledVersions) {
      if (has_kernels_for(preset, version)) continue;
      CAPTURE(preset);
      ++impossible;
      const BenchConfig config = bench_of(preset, 1, {Bytes{1 << 20}}, version);
      CHECK_THROWS_WITH_AS(run_bench(config, shipped_parts()), doctest::Contains("no kernels"),
                           Error);
      const DecideResult decided = run_decide(decide_config(config), shipped_parts());
      CHECK(decided.blocks.front().rows.size() == 1);
      CHECK(std::ranges::any_of(decided.notes, [](const std::string& note) {
        return note.find("no release before 2.25.1") != std::string::npos;
      }));
    }
  }
  CHECK(impossible >= 4);  // hgx-b200, hgx-b300, gb200-nvl72, gb300-nvl72 with 2.21.5
}

}  // namespace
}  // namespace fabricast::testing
