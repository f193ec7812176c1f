#pragma once
// What one layer, the embedding and the output layer cost a GPU per micro-batch: kernels, and the
// collectives inside a layer with what of them is exposed.

#include "models/training/calls/collective_times.hpp"
#include "models/training/layers/pass_time.hpp"
#include "models/training/model/framework.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// Backward as with zero_bubble: `weight` are the gradients of weights alone, part of `backward`.
struct LayerTime {
  PassTime forward, backward, weight;
};

/// Everything a layer's time follows from.
struct StepSetup {
  Transformer model;
  Layout layout;  ///< recompute is not automatic any more
  Framework framework;
  GpuCompute gpu;
  bool stages_in_rack = false;  ///< as if neighbouring stages lay on neighbouring nodes
};

LayerTime layer_time(const StepSetup& setup, bool moe, CollectiveTimes& collectives);
LayerTime embedding_time(const StepSetup& setup, CollectiveTimes& collectives);
/// Final norm, logits and loss.
LayerTime output_time(const StepSetup& setup, CollectiveTimes& collectives);

}  // namespace fabricast
