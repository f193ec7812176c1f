#pragma once
// An engine of one layout with its times, and the queue that runs on such engines.

#include <optional>

#include "models/studies/serving/engine_kernels.hpp"

namespace fabricast {

struct EngineModel {
  ServeLayout layout;
  PassTimes passes;
  double weights = 0;      ///< bytes of a GPU
  double token_bytes = 0;  ///< of keys and values, of a GPU
};

/// Tokens of a pass, at most.
double tokens_max(const ServeConfig& config, bool prefill);

EngineModel engine_model(const ServeConfig& config, const ServeLayout& layout,
                         const GpuCompute& gpu, const ServeKernels& kernels, double tokens_max,
                         CollectiveTimes& collectives);

/// Keys and values on their way between pools.
struct TransferCosts {
  double rate = 0;              ///< bytes per second of a GPU that sends to another pool
  double block = 0, start = 0;  ///< seconds: of a block of a layer, of a request
};
/// At the rate at which NCCL's send and receive moves a large message on the simulated links:
/// between nodes through the NICs of the GPU, in an NVLink domain through NVLink.
TransferCosts transfer_costs(CollectiveTimes& collectives, const ServingCosts& costs);

/// Blocks of keys and values that a GPU has room for; 0 where weights leave none.
std::int64_t blocks_of(const ServeConfig& config, const EngineModel& engine);

/// REQUIRES: config.load; what is given outlives it. Throws Error where weights leave no room.
ServeQueue queue_of(const ServeConfig& config, const EngineModel& engine,
                    const EngineModel* prefill, const EngineHost& host,
                    const TransferCosts& transfer);

}  // namespace fabricast
