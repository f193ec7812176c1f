#include "models/engines/kernel_plan.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

namespace {

std::int64_t over(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

/// Of a grid that goes over one share after another, a row on each multiprocessor: it stores to
/// memory that it loads next, for all the compiler knows, so each turn waits for its load.
std::int64_t turns_of(Bytes size, int gpus, int multiprocessors) {
  const std::int64_t rows = over(size.count, kRow.count);
  return std::min<std::int64_t>(gpus, rows) * over(over(rows, gpus), multiprocessors);
}

}  // namespace

std::vector<KernelStage> plan_kernel(EngineKernel kernel, int gpus, Bytes size,
                                     int multiprocessors) {
  assert(kernel != EngineKernel::nccl && gpus >= 2 && gpus <= 8 && size.count > 0);
  StageBuilder stages(gpus, size);
  switch (kernel) {
    case EngineKernel::nccl:
      break;
    case EngineKernel::one_shot:
    case EngineKernel::pull:
      stages.barrier();
      stages.load_inputs();
      stages.barrier();
      break;
    case EngineKernel::two_shot:
      stages.barrier();
      stages.load_shares();
      stages.barrier();
      stages.load_sums_in_turn();
      break;
    case EngineKernel::push:
    case EngineKernel::lamport:
      stages.store_inputs();
      stages.go_over(size * gpus);  // polls what has come, and clears it for the next call but one
      break;
    case EngineKernel::fused:
      stages.barrier();
      stages.load_shares();
      stages.store_parts(Payload::sum);
      stages.barrier();
      break;
    case EngineKernel::synced:
      stages.go_over(size * 2, turns_of(size, gpus, multiprocessors));  // where peers can read it
      stages.barrier();
      stages.load_shares();
      stages.store_parts(Payload::sum);
      stages.barrier();
      stages.go_over(size * 2, turns_of(size, gpus, multiprocessors));
      break;
    case EngineKernel::multimem:
      stages.go_over(size * 2);  // into the symmetric buffer: a read and a write
      stages.barrier();
      stages.sum_and_multicast();
      stages.barrier();
      stages.go_over(size * 2);
      break;
    case EngineKernel::symmetric:
      stages.go_over(size * 2);
      stages.barrier();
      stages.load_shares();
      stages.store_parts(Payload::sum);
      stages.barrier();
      stages.go_over(size * 2);
      break;
  }
  return stages.take();
}

}  // namespace fabricast
