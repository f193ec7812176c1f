#pragma once
// What the streams of a job run: kernels, in each the works that its channels run one after
// another, and the symmetry that all of them have.

#include <span>
#include <string>
#include <vector>

#include "models/nccl/call/stream.hpp"
#include "models/nccl/symmetry/symmetry.hpp"

namespace fabricast {

/// A call of a kernel: the only one, or one of a group.
struct QueuedWork {
  const CollectiveRun* run = nullptr;  ///< of the stream
  Partition partition;                 ///< its parts; none of sends and receives
  Symmetry symmetry;                   ///< of all works of a job by the same moves
};

/// One call on all ranks. NCCL runs calls of one kind that are grouped in one kernel: a block (a
/// channel of a rank) runs its works one after another, each with all its threads
/// (src/device/common.h, ncclKernelMain). What loading the next work takes is not modelled. MSCCL
/// launches a kernel for each.
struct Kernel {
  std::vector<QueuedWork> works;
  bool by_channel = true;  ///< a work waits for the one before it on its channel; else on its rank
};

struct StreamPlan {
  Members members;
  std::vector<Kernel> kernels;  ///< by run; none where the only rank copies
};

struct JobPlan {
  std::vector<StreamPlan> streams;
  std::string why_not;  ///< what stands against folding, or against folding more; "" = nothing

  /// A work's: all have the same moves. Null: nobody sends to anybody.
  const Symmetry* symmetry() const;
  /// Ranks that do as one of them does, itself included.
  int copies() const { return symmetry() == nullptr ? 1 : symmetry()->copies(); }
};

/// The most that can be folded of all of them. The streams outlive the plan. REQUIRES: as
/// simulate().
JobPlan plan_job(const Cluster& cluster, std::span<const Stream> streams);
/// The same of one call, or of rounds of it, whose symmetry is known.
JobPlan plan_job(const Cluster& cluster, const Stream& stream, const Symmetry& symmetry);

/// Takes back, for a plan that has fewer moves now, what calls that wait for each other have in
/// common only by these: GPUs of a node that copy as one.
void keep_apart(std::span<const Stream> streams, JobPlan& plan);

}  // namespace fabricast
