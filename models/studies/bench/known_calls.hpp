#pragma once
// Times of calls that several benches of one site have in common: settings that are tried one after
// another leave most calls as they are. Asked once.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "models/nccl/base/memo.hpp"
#include "models/studies/bench/bench_call.hpp"

namespace fabricast {

/// For benches that differ by environment alone: the topology, the parts and what counts as a call
/// are the same for all. Any thread may ask at any time.
class KnownCalls {
 public:
  /// The times of the run: known, or what `simulate` gives, of which neither loads of links nor
  /// ends of ranks are kept. A call that two threads ask for at once is simulated by both.
  RunTimes at(const Cluster& cluster, const CollectiveRun& run,
              const std::function<RunTimes()>& simulate);
  MemoCounts counts() const;

 private:
  /// The first look: what is cheap to compare. Nodes are counted as hosts, too, as the environment
  /// says whether NVLink makes several hosts one node.
  using Key = std::tuple<int, int, Routing, Collective, Algorithm, Protocol, std::int64_t, int>;
  struct Known {
    CollectiveRun run;
    RunTimes times;
  };

  const RunTimes* find(const Key& key, const CollectiveRun& run) const;

  mutable std::mutex mutex_;
  std::map<Key, std::vector<Known>> known_;
  MemoCounts counts_;
};

/// As run_bench(), of times alone: rows say nothing of links, and no other routing is compared.
/// REQUIRES: `config` explains, traces, splits and breaks nothing, and asks for chunks.
BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts, KnownCalls& known);

}  // namespace fabricast
