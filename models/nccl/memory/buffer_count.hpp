#pragma once
// Counts the allocations of all ranks of a communicator.

#include <cstdint>
#include <vector>

#include "models/nccl/memory/communicator_memory.hpp"

namespace fabricast {

class BufferCount {
 public:
  BufferCount(int ranks, bool cumem) : cumem_(cumem), ranks_(static_cast<std::size_t>(ranks)) {}

  void add(int rank, MemoryPurpose purpose, MemoryPlace place, std::int64_t each,
           std::int64_t count = 1);
  void add_everywhere(MemoryPurpose purpose, MemoryPlace place, std::int64_t each,
                      std::int64_t count = 1);
  /// The rows of a rank, by place and purpose: on a GPU in whole pages, except that cudaMalloc()
  /// puts small ones where there is room.
  RankMemory of(int rank) const;

 private:
  bool cumem_;
  std::vector<std::vector<MemoryRow>> ranks_;  ///< without bytes; a few each
};

}  // namespace fabricast
