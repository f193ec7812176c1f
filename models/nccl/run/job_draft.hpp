#pragma once
// The collectives of a job, each assembled once for all the times that it is called, and for all
// runs of the job.

#include <deque>
#include <optional>
#include <vector>

#include "models/nccl/schedules/call_draft.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

class JobDraft {
 public:
  /// `is_full`: of every rank and channel. `hashes`: of ways that are hashed. The first three
  /// arguments outlive the draft.
  JobDraft(const Cluster& cluster, const SoftwareCosts& software, const JobPlan& plan, bool is_full,
           std::optional<EcmpSeeds> hashes = std::nullopt);

  bool is_full() const { return is_full_; }
  const std::optional<EcmpSeeds>& hashes() const { return hashes_; }
  /// One of all; null = all calls are sends and receives.
  const CallDraft* any() const;
  /// Whether the plan's partitions may become those of another size; then resize() says that they
  /// have. Runs and symmetry stay, but for the count. REQUIRES: the same channels have parts.
  bool is_resizable() const;
  void resize();
  /// Of a stream's kernel, one for each of its works; none of sends and receives.
  const std::deque<CallDraft>& of(std::size_t stream, std::size_t kernel) const {
    return drafts_[stream][kernel];
  }

 private:
  bool is_full_;
  std::optional<EcmpSeeds> hashes_;
  std::vector<std::deque<std::deque<CallDraft>>> drafts_;
};

}  // namespace fabricast
