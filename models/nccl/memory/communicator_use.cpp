#include "models/nccl/memory/communicator_use.hpp"

#include <algorithm>

#include "models/nccl/tuner/tuner.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

CommunicatorUse use_of(const Communicator& communicator, const std::vector<MemoryCall>& calls) {
  CommunicatorUse out;
  if (communicator.ranks == 1) return out;  // a call is a copy
  for (const MemoryCall& call : calls) {
    if (!is_tuned(call.collective)) {
      add_once(out.sends, call.collective);
      continue;
    }
    const TunerDecision decision = decide(communicator.model, call.collective, call.size);
    if (decision.algorithm) add_once(out.algorithms, *decision.algorithm);
  }
  std::ranges::sort(out.algorithms);
  return out;
}

}  // namespace fabricast
