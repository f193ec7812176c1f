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
  /// `seats`: of the job on the plan's cluster of `trays` hosts a node. `wanted`: but for what
  /// NCCL is told of a node. `gpus`: of each host, from the first one on.
  PlacedJob(const SeatPlan& plan, const Cluster& cluster, CommunicatorConfig wanted, Seats seats,
            int trays, int gpus);

  int ranks() const { return all_.ranks(); }  ///< that are simulated
  /// Of all ranks. Throws Error where the size rounds down to no element.
  DecidedCall decide(Collective collective, Bytes size);
  /// Of these ranks of the job, which have the same GPUs of each of their nodes. REQUIRES: its
  /// hosts have seats of their own.
  DecidedCall decide(const std::vector<int>& ranks, Collective collective, Bytes size);
  const std::vector<std::string>& warnings();

 private:
  DecidedCall decide_among(const Members& members, Collective collective, Bytes size);

  Seats seats_;
  int trays_, gpus_;
  Members all_;
  Communicators communicators_;
};

}  // namespace fabricast
