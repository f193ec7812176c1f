#pragma once
// What one layer, the embedding and the output layer cost a GPU per micro-batch: kernels, and the
// collectives inside a layer with what of them is exposed.

#include "models/training/collective_times.hpp"
#include "models/training/framework.hpp"
#include "models/training/gpu_compute.hpp"
#include "models/training/layout.hpp"

namespace fabricast {

/// Seconds, by what the compute stream does or waits for.
struct PassTime {
  double gemm = 0, attention = 0, elementwise = 0;
  double host = 0;                             ///< waiting for the host to issue kernels
  double tensor = 0, context = 0, expert = 0;  ///< exposed communication
  double contention = 0;                       ///< slower compute beside communication
  double hidden = 0;                           ///< communication beside compute; not in total()

  double compute() const { return gemm + attention + elementwise; }
  double total() const { return compute() + host + tensor + context + expert + contention; }
  PassTime& operator+=(const PassTime& other);
};
PassTime operator*(double times, PassTime pass);
inline PassTime operator+(PassTime a, const PassTime& b) { return a += b; }

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
};

LayerTime layer_time(const StepSetup& setup, bool moe, CollectiveTimes& collectives);
LayerTime embedding_time(const StepSetup& setup, CollectiveTimes& collectives);
/// Final norm, logits and loss.
LayerTime output_time(const StepSetup& setup, CollectiveTimes& collectives);

/// Groups of ranks by Megatron's order, fastest first: TP, CP, EP inside DP, DP, PP.
RankGroup tensor_group(const Layout& layout);
RankGroup context_group(const Layout& layout);
RankGroup expert_group(const Layout& layout);
RankGroup dense_data_group(const Layout& layout);
RankGroup expert_data_group(const Layout& layout);
RankGroup stage_pair(const Layout& layout);

}  // namespace fabricast
