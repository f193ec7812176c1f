#pragma once
// The groups of `bench --split`: all of them run a row's collective at the same time.

#include <optional>
#include <string>
#include <vector>

#include "models/nccl/communicator/communicators.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

class BenchSplit {
 public:
  /// Gives the block its groups. All arguments outlive it. Throws Error. REQUIRES: a split.
  BenchSplit(const BenchConfig& config, const SoftwareCosts& software,
             const CommunicatorConfig& wanted, BenchBlock& block);

  int gpus_per_node() const { return gpus_; }
  /// Of all groups.
  int ranks() const;
  const std::vector<std::string>& notes() const { return notes_; }  ///< may hold some twice

  /// A row's calls, all at the same time.
  struct Calls {
    std::vector<DecidedCall> decided;  ///< by group
    std::vector<Stream> streams;
  };
  /// Nothing where the size rounds down to no element. `faults`: of the job; `healthy`: the
  /// cluster without them.
  std::optional<Calls> calls(Collective collective, Bytes size, const Faults& faults,
                             const Cluster& healthy);
  /// Of each group, in a row or, if that was asked for, once. `result`: of the streams.
  std::vector<Duration> times(const Cluster& cluster, const std::vector<Stream>& streams,
                              const StreamsResult& result, const SimulationOptions& options) const;
  /// The row of the slowest group. `result`: of the streams; `options`: for it alone.
  BenchRow row(const Calls& calls, Bytes size, const StreamsResult& result,
               const SimulationOptions& options) const;

 private:
  const BenchConfig& config_;
  const SoftwareCosts& software_;
  BenchBlock& block_;
  int gpus_;
  Communicators communicators_;
  std::vector<std::string> notes_;
};

}  // namespace fabricast
