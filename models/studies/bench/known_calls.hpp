#pragma once
// Times of calls that several benches of one site have in common: settings that are tried one after
// another leave most calls as they are. Asked once.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "models/nccl/base/memo.hpp"
#include "models/studies/bench/bench_call.hpp"

namespace fabricast {

/// For benches that differ by environment alone: the topology, the parts, what counts as a call and
/// whether it is explained are the same for all. Any thread may ask at any time.
class KnownCalls {
 public:
  /// What is kept of a run: its times, or loads of links and ends of ranks, too.
  enum class Kept : std::uint8_t { times, all };
  explicit KnownCalls(Kept kept = Kept::times) : kept_(kept) {}

  /// The run: known, or what `simulate` gives, as far as that is kept. A thread that
  /// asks for what another one simulates waits for it.
  RunTimes at(const Cluster& cluster, const CollectiveRun& run,
              const std::function<RunTimes()>& simulate);
  MemoCounts counts() const;

 private:
  /// The first look: what is cheap to compare. Nodes are counted as hosts, too, as the environment
  /// says whether NVLink makes several hosts one node.
  using Key = std::tuple<int, int, Routing, Collective, Algorithm, Protocol, std::int64_t, int>;
  struct Known {
    CollectiveRun run;
    std::optional<RunTimes> times;  ///< nothing: a thread simulates it
  };

  Known* find(const Key& key, const CollectiveRun& run);

  Kept kept_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::map<Key, std::vector<Known>> known_;
  MemoCounts counts_;
};

/// As run_bench(), of what is kept: where that is times alone, rows say nothing of links, and no
/// other routing is compared. REQUIRES: `config` traces, splits and breaks nothing.
BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts, KnownCalls& known);

}  // namespace fabricast
