#pragma once
// The communicators of a job: one of all ranks, or those of a training layout.

#include <string>
#include <vector>

#include "models/nccl/base/members.hpp"
#include "models/studies/memory/memory.hpp"

namespace fabricast {

struct AskedGroup {
  std::string name;
  Members members;  ///< nobody = all
  std::vector<MemoryCall> calls;

  std::vector<Collective> collectives() const;  ///< each once
};

/// Each of them with each size.
std::vector<MemoryCall> calls_of(const std::vector<Collective>& collectives,
                                 const std::vector<Bytes>& sizes);

/// Groups of rank 0 that have several ranks, and what the step calls in such groups.
/// `gpus_per_node`: of every node of the cluster. Throws Error.
std::vector<AskedGroup> groups_of_layout(const StepConfig& step, int gpus_per_node);

}  // namespace fabricast
