#pragma once
// Channels of NVLS or NVLSTree that take the same ways, over the same tree and NICs. With equal
// shares of the message they do the same at the same time, as they share links and threads evenly
// (sim/machines/sharing.cpp): one of them stands for all.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

struct Lanes {
  std::vector<std::uint32_t> built;   ///< parts of the partition that are simulated, ascending
  std::vector<std::uint32_t> like;    ///< by part: the one of its ways that is
  std::vector<std::uint32_t> copies;  ///< by part that is simulated: so many take its ways

  /// Channels stand for others that take their ways.
  bool merges() const;
};

/// Each part of the partition, of so many, stands for itself.
Lanes all_lanes(std::size_t parts);
inline Lanes all_lanes(const Partition& partition) { return all_lanes(partition.parts.size()); }
/// The fewest. REQUIRES: NVLS or NVLSTree.
Lanes find_lanes(const CollectiveRun& run, const Members& members, const Partition& partition);

}  // namespace fabricast
