#pragma once
// The Ring algorithm as a program of the executor. Role: lane = index of the part in the partition,
// position = ring index. Input 0 comes from the previous rank, output 0 goes to the next.

#include <cstdint>
#include <vector>

#include "models/nccl/programs/ring_ops.hpp"
#include "models/nccl/split/partition.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

class RingProgram final : public LoopProgram {
 public:
  struct Config {
    Collective collective{};
    Protocol protocol{};
    std::uint32_t ranks = 0;
    Bytes step;  ///< step_size() of the protocol
    bool in_place = false;
    /// Only the first so many chunks of each loop are worked on; 0 = all. See Symmetry::chunks.
    std::uint32_t chunks = 0;
  };

  /// `root_index`: per part, the ring index of the root (broadcast, reduce; else ignored, may be
  /// empty). REQUIRES: ranks >= 2, every part has elements.
  RingProgram(const Config& config, const Partition& partition,
              const std::vector<std::uint32_t>& root_index);

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;
  std::uint64_t repeats(Role role, std::uint64_t first, std::uint64_t stride) const override;
  PrimitiveLabel label(Role role, Cursor cursor) const override;

  /// Slices that each worker of a lane handles, empty ones included; of some of the chunks about.
  std::uint64_t slices(std::uint32_t lane) const;

 private:
  std::uint32_t steps(Role) const override { return ops_per_loop_; }
  std::uint32_t loops(Role role) const override { return lanes_[role.lane].loops; }

  /// A chunk of a loop whose chunks are equal, and its slices.
  struct Full {
    Bytes chunk, slice;
  };
  struct Lane {
    std::int64_t chunk = 0;       ///< elements, of the loops before the last
    std::int64_t last_chunk = 0;  ///< of the last loop
    std::int64_t last_count = 0;  ///< all elements of the last loop
    std::uint32_t loops = 0;
    std::uint32_t root_index = 0;
    Full full;       ///< of the loops before the last
    Full last_full;  ///< of the last loop, if its chunks are equal
    /// Loops from the start whose chunks are equal; 0 where a loop is one primitive.
    std::uint32_t even_loops = 0;
    // Of all_reduce's last loop, whose chunks are full from the first one on, then one may have
    // less, and the rest is empty:
    std::uint32_t full_chunks = 0;
    std::uint32_t empty_from = 0;  ///< the first chunk that is empty
  };

  std::int64_t chunk_elements(const Lane& lane, bool last_loop, std::uint32_t chunk) const;
  Bytes slice_size(std::int64_t chunk_elements) const;
  bool find_chunk(Role role, Cursor& cursor) const;
  std::uint64_t alike_below(const Lane& lane, std::uint32_t chunk) const;
  [[gnu::noinline]] bool next_uneven(const Lane& lane, std::uint32_t position, Cursor& cursor,
                                     Primitive& primitive) const;

  Config config_;
  int element_bytes_;
  StepShape shape_;
  std::uint32_t slices_per_chunk_;
  std::uint32_t ops_per_loop_;
  std::vector<Lane> lanes_;
};

}  // namespace fabricast
