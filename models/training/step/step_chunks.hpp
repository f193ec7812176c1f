#pragma once
// A model cut into chunks, and what each costs its stage per micro-batch.

#include <vector>

#include "models/training/layers/layer_times.hpp"
#include "models/training/model/memory.hpp"

namespace fabricast {

/// A chunk of the model on its stage.
struct Chunk {
  int layers = 0;
  PassTime forward, backward, weight;
  LocalParameters parameters;
};

/// In the order of the model: chunk c lies on stage c mod PP.
std::vector<Chunk> make_chunks(const StepSetup& setup, CollectiveTimes& collectives);

/// Of what one GPU of the stage updates, in seconds.
double optimizer_time(const StepSetup& setup, int stage);

/// No step is shorter, in seconds: the busiest stage works on all its micro-batches, one after
/// another, once the first has come through the stages before it, and updates its weights.
/// `collectives`: their times, or bounds of these.
double least_step_time(const StepSetup& setup, CollectiveTimes& collectives);

}  // namespace fabricast
