// What NCCL's communicators take of GPU memory, remembered by shape and by what connects them.
#include <algorithm>

#include "models/nccl/memory/communicator_memory.hpp"
#include "models/training/calls/collective_times.hpp"

namespace fabricast {

std::int64_t CollectiveTimes::communicator_bytes(const RankGroup& group,
                                                 const std::vector<MemoryCall>& calls) {
  if (group.ranks() <= 1) return 0;
  Shape shape = shapes_.of(group);
  shape.nodes = std::min(shape.nodes, std::max(kMemoryRanksMax / shape.gpus, 1));
  Site& where = site(shape);
  const Communicator& communicator = where.communicators.like(where.groups.front());
  const CommunicatorUse use = use_of(communicator, calls);
  return communicator_bytes_.at({shape, use.algorithms, use.sends}, [&] {
    const CommunicatorMemory memory =
        communicator_memory(where.cluster, communicator, config_.environment, use);
    return memory.ranks[static_cast<std::size_t>(memory.fullest())].bytes(MemoryPlace::gpu);
  });
}

}  // namespace fabricast
