#pragma once
// One optimizer step: the parts of layers and collectives, put on streams in the order in which the
// stages of a pipeline issue them. Replicas and ranks of one TP group do the same at the same time,
// so each stage stands for all its GPUs.

#include <cstdint>
#include <vector>

#include "models/training/layers/layer_times.hpp"
#include "models/training/model/memory.hpp"
#include "models/training/step/step_calls.hpp"

namespace fabricast {

/// Of the stage whose kernels take longest, over the whole step. `busy`, `pipeline`, `data` and
/// `optimizer` add up to the step.
struct StepBreakdown {
  int stage = 0;
  PassTime busy;      ///< kernels and communication inside layers
  Duration pipeline;  ///< bubble, and waiting for neighbours
  Duration data;      ///< exposed exchange between replicas, norm of gradients included
  Duration optimizer;
  Duration data_hidden;  ///< the rest of that exchange, beside compute
};

struct StepTime {
  Duration time;
  StepBreakdown breakdown;
  std::size_t tasks = 0;
};

/// What a stage does for a while.
struct StepSpan {
  StepIssue issue;
  int stage = 0;
  bool exchange = false;  ///< between replicas or with another stage, beside compute
  int stream = 0;         ///< compute, between replicas, to the next stage, to the one before
  Instant start, end;
  double inside = 0;  ///< seconds of communication in it that compute does not hide
};

/// REQUIRES: check_layout() passed, setup.layout.recompute is not automatic. Spans are added to
/// `spans` unless it is nullptr.
StepTime step_time(const StepSetup& setup, CollectiveTimes& collectives,
                   std::vector<StepSpan>* spans = nullptr);

/// Asks `collectives` for all that step_time() asks: for CollectiveTimes::prepare().
void ask_step(const StepSetup& setup, CollectiveTimes& collectives);

}  // namespace fabricast
