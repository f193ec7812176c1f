#pragma once
// What the stages of a step do when, for pictures of it.

#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

/// So many lines of the table at most.
inline constexpr std::size_t kTimelineRows = 6000;

struct StepTimeline {
  ReportTable table;       ///< stage, stream, what, micro_batch, chunk, start_s, end_s, exposed_s
  std::string left_out{};  ///< "" = nothing
};

/// The spans, those that follow one another without a gap and do the same joined. Where there are
/// too many, of some stages only, spread over all of them. REQUIRES: config.trace.
StepTimeline step_timeline(const StepResult& result);

}  // namespace fabricast
