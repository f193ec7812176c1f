#pragma once
// The groups of `bench --split`: all of them run a row's collective at the same time.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/communicator/communicators.hpp"
#include "models/nccl/run/together.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

class BenchSplit {
 public:
  /// Gives the block its groups. All arguments outlive it. Throws Error when the config asks for
  /// what is not simulated with groups. REQUIRES: a split.
  BenchSplit(const BenchConfig& config, const SoftwareCosts& software,
             const CommunicatorConfig& wanted, BenchBlock& block);

  int gpus_per_node() const { return gpus_; }
  const std::vector<std::string>& notes() const { return notes_; }  ///< may hold some twice

  /// The row of the slowest group. Nothing where the size rounds down to no element. `faults`: of
  /// the job; `healthy`: the cluster without faults, null if there are none.
  std::optional<BenchRow> row(Collective collective, Bytes size, const Faults& faults,
                              const Cluster* healthy, const std::function<void(double)>& progress);

 private:
  struct Call {
    std::vector<DecidedCall> decided;  ///< by group
    std::vector<Stream> streams;
    int ranks = 0, channels = 0;  ///< in all; most
  };
  std::optional<Call> call(Collective collective, Bytes size, const Faults& faults);

  const BenchConfig& config_;
  const SoftwareCosts& software_;
  BenchBlock& block_;
  int gpus_;
  Communicators communicators_;
  std::vector<std::string> notes_;
};

}  // namespace fabricast
