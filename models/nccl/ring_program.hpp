#pragma once
// The Ring algorithm as a program of the executor. Role: lane = index into the parts given here,
// position = ring index. Input 0 comes from the previous rank, output 0 goes to the next.

#include <cstdint>
#include <vector>

#include "models/nccl/ring_ops.hpp"
#include "models/nccl/slices.hpp"
#include "sim/program.hpp"

namespace fabricast {

/// What one channel of a ring walks over. Counts in elements of the program's element size.
struct RingPart {
  std::int64_t count = 0;       ///< all_reduce, broadcast, reduce: of the buffer; else per rank
  std::int64_t chunk = 0;       ///< per chunk of a full loop
  std::int64_t last_chunk = 0;  ///< all_reduce: per chunk of the last loop, when that is not full
  std::uint32_t root_index = 0;
};

class RingProgram final : public Program {
 public:
  struct Config {
    Collective collective{};
    std::uint32_t ranks = 0;
    int element_bytes = 0;
    StepShape shape;
    Protocol protocol{};
    Bytes step;             ///< step_size() of the protocol
    bool in_place = false;
  };

  /// REQUIRES: ranks >= 2, every part has count > 0 and chunk > 0.
  RingProgram(const Config& config, const std::vector<RingPart>& parts);

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;

  /// Slices each worker of a lane moves, empty ones included (what a worker only receives counts).
  std::uint64_t slices(std::uint32_t lane) const;

 private:
  struct Lane {
    std::int64_t chunk = 0;        ///< of the loops before the last
    std::int64_t last_chunk = 0;   ///< of the last loop
    std::int64_t last_count = 0;   ///< elements in the last loop
    std::uint32_t loops = 0;
    std::uint32_t root_index = 0;
    Bytes full_slice;              ///< of a chunk of `chunk` elements
  };

  std::int64_t chunk_elements(const Lane& lane, bool last_loop, std::uint32_t chunk) const;

  Config config_;
  std::uint32_t ops_per_loop_;
  std::vector<Lane> lanes_;
};

}  // namespace fabricast
