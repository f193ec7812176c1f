#pragma once
// What is needed to watch a run of streams: the timeline in the making, and how ranks are called.

#include <vector>

#include "models/nccl/run/exchange_recorder.hpp"
#include "models/nccl/run/timeline_recorder.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/symmetry/job_plan.hpp"

namespace fabricast {

struct TimelineWatch {
  TimelineDraft draft;
  JobRanks ranks;
  std::vector<CallLabel> parts;  ///< of sends and receives, by part of a JoinedExchange

  /// `run`: how long it is going to take.
  TimelineWatch(const JobPlan& plan, const TimelineFilter& filter, Duration run)
      : draft(filter, run), ranks(ranks_of(plan)) {}

  void show(TimelineRecorder& recorder, const Assembly& assembly, const CallLabel& label) const;

 private:
  /// A single communicator's own; of several their places in the job.
  static JobRanks ranks_of(const JobPlan& plan);
};

}  // namespace fabricast
