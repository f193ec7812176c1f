#pragma once
// Serving a transformer: what the prompt of a batch of requests takes, and then each token.

#include "models/training/calls/collective_times.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// Ranks in the order TP, EP, PP. With EP each of its ranks has requests of its own, for which it
/// does everything but the experts (data-parallel attention).
struct ServeSetup {
  Transformer model;
  GpuCompute gpu;
  Precision precision = Precision::bf16;  ///< of weights; keys and values have 16 bits, or 8
  int tensor = 1, pipeline = 1, expert = 1;
  int batch = 1;   ///< requests at a time
  int prompt = 1;  ///< tokens of a request

  /// Requests of the rank that has most.
  int local_batch() const { return (batch + expert - 1) / expert; }
};

/// Seconds.
struct ServeTime {
  double gemm = 0, attention = 0, elementwise = 0;
  double tensor = 0, expert = 0, pipeline = 0;  ///< communication, all of it exposed

  double communication() const { return tensor + expert + pipeline; }
  double total() const { return gemm + attention + elementwise + communication(); }
  ServeTime& operator+=(const ServeTime& other);
};

/// From the prompts of the batch to their first tokens.
ServeTime prefill_time(const ServeSetup& setup, CollectiveTimes& collectives);
/// One more token for every request, each with `context` tokens before it.
ServeTime decode_time(const ServeSetup& setup, double context, CollectiveTimes& collectives);

/// Bytes of a GPU: weights, and keys and values of the batch at `context` tokens.
struct ServeMemory {
  double weights = 0, cache = 0;
  double all() const { return weights + cache; }
};
ServeMemory serve_memory(const ServeSetup& setup, double context);

}  // namespace fabricast
