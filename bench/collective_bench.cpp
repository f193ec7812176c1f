// How fast whole questions are: a collective on a preset, decided, built and executed, every rank
// simulated. Counters: events per second of CPU time, building included.

#include <benchmark/benchmark.h>

#include "models/studies/bench/bench.hpp"

namespace fabricast {
namespace {

void collective(benchmark::State& state, const char* algorithm, const char* protocol, Bytes size) {
  const PartsCatalogue parts = load_catalogue();
  BenchConfig config;
  config.topology = "dgx-h100";
  config.nodes = {static_cast<int>(state.range(0))};
  config.environment.set("NCCL_ALGO", algorithm);
  config.environment.set("NCCL_PROTO", protocol);
  config.sizes = {size};
  std::uint64_t events = 0;
  for (auto _ : state) {
    const BenchResult result = run_bench(config, parts);
    events += result.blocks.front().rows.front().result.events;
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kAvgIterations);
}
BENCHMARK_CAPTURE(collective, ring_simple_1GiB, "Ring", "Simple", Bytes{1 << 30})
    ->Arg(1)
    ->Arg(8)
    ->Arg(32)
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(collective, ring_ll_1MiB, "Ring", "LL", Bytes{1 << 20})
    ->Arg(8)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(collective, tree_simple_1GiB, "Tree", "Simple", Bytes{1 << 30})
    ->Arg(8)
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricast
