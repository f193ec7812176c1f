#include "models/studies/memory/memory_groups.hpp"

#include "models/io/workloads/load_workloads.hpp"
#include "models/training/step/called_groups.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
std::vector<Collective> AskedGroup::collectives() const {
  std::vector<Collective> out;
  for (const MemoryCall& call : calls) add_once(out, call.collective);
  return out;
}

std::vector<MemoryCall> calls_of(const std::vector<Collective>& collectives,
                                 const std::vector<Bytes>& sizes) {
  std::vector<MemoryCall> out;
  for (const Collective collective : collectives) {
    if (!is_tuned(collective)) {
      out.push_back({collective, {}});
      continue;
    }
    for (const Bytes size : sizes) out.push_back({collective, size});
  }
  return out;
}

std::vector<AskedGroup> groups_of_layout(const StepConfig& step, int gpus_per_node) {
  check_layout(step.model, step.layout);
  const Framework framework = framework_of(step);
  std::vector<AskedGroup> out;
  for (const CalledGroup& called : called_groups({step.model, step.layout, framework, {}},
                                                 nccl_brings_tokens(framework, step.ep_kernels))) {
    const std::vector<int> ranks = ranks_with(step.layout, called.among, called.group, 0);
    if (ranks.size() < 2) continue;
    out.push_back({std::string(group_name(step.layout, called.among)),
                   Members::of_job(ranks, gpus_per_node), called.calls});
  }
  return out;
}

}  // namespace fabricast
