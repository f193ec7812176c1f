#include "models/nccl/run/job_draft.hpp"

#include <algorithm>

namespace fabricast {

JobDraft::JobDraft(const Cluster& cluster, const SoftwareCosts& software, const JobPlan& plan,
                   bool is_full, std::optional<EcmpSeeds> hashes)
    : is_full_(is_full), hashes_(hashes) {
  const Symmetry* const folded_by = is_full || plan.copies() == 1 ? nullptr : plan.symmetry();
  for (const StreamPlan& stream : plan.streams) {
    const FabricRoutes routes(cluster, hashes, drafts_.size());
    std::deque<std::deque<CallDraft>>& kernels = drafts_.emplace_back();
    for (const Kernel& kernel : stream.kernels) {
      std::deque<CallDraft>& works = kernels.emplace_back();
      for (const QueuedWork& work : kernel.works) {
        if (!work.run->has_algorithm()) continue;
        works.emplace_back(cluster, software, *work.run, work.partition, work.symmetry, is_full,
                           folded_by, routes);
      }
    }
  }
}

const CallDraft* JobDraft::any() const {
  for (const auto& kernels : drafts_)
    for (const auto& works : kernels)
      if (!works.empty()) return &works.front();
  return nullptr;
}

bool JobDraft::is_resizable() const {
  return std::ranges::all_of(drafts_, [](const auto& kernels) {
    return std::ranges::all_of(kernels, [](const auto& works) {
      return !works.empty() && std::ranges::all_of(works, &CallDraft::is_resizable);
    });
  });
}

void JobDraft::resize() {
  for (auto& kernels : drafts_)
    for (auto& works : kernels)
      for (CallDraft& work : works) work.resize();
}

}  // namespace fabricast
