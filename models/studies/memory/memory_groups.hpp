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
  std::vector<Collective> collectives;
};

/// Groups of rank 0 that have several ranks: TP, CP, EP, DP, PP as Megatron makes them, and what is
/// called in each. `gpus_per_node`: of every node of the cluster. Throws Error.
std::vector<AskedGroup> groups_of_layout(const StepConfig& step, int gpus_per_node);

}  // namespace fabricast
