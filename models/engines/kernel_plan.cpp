#include "models/engines/kernel_plan.hpp"

#include <cassert>

namespace fabricast {

std::vector<KernelStage> plan_kernel(EngineKernel kernel, int gpus, Bytes size) {
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
    case EngineKernel::scatter:
      stages.store_shares();
      stages.barrier();
      stages.load_sums_in_turn();
      stages.barrier();
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
