#pragma once
// A job on seats of a cluster: its communicators and the calls that NCCL decides for them.

#include <memory>
#include <vector>

#include "models/nccl/communicator/communicators.hpp"
#include "models/studies/placement/seats.hpp"

namespace fabricast {

/// Calls are of floats.
inline constexpr int kPlacedElementBytes = 4;

class PlacedJob {
 public:
  /// `seats`: of the job's hosts among those of the cluster, in the order of ranks. `gpus`: of each
  /// host, from the first one on.
  PlacedJob(const Cluster& cluster, const CommunicatorConfig& wanted, std::vector<int> seats,
            int gpus);

  int ranks() const { return static_cast<int>(seats_.size()) * gpus_; }
  /// Of all ranks. Throws Error where the size rounds down to no element.
  DecidedCall decide(Collective collective, Bytes size);
  /// Of these ranks of the job, which have the same GPUs of each of their hosts.
  DecidedCall decide(const std::vector<int>& ranks, Collective collective, Bytes size);
  const std::vector<std::string>& warnings();

 private:
  DecidedCall decide_among(const Members& members, Collective collective, Bytes size);

  std::vector<int> seats_;
  int gpus_;
  Members all_;
  Communicators communicators_;
};

}  // namespace fabricast
