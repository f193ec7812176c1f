#pragma once
// Programs of the algorithms with heads (NVLS, NVLSTree, CollNet): a message is walked in loops of
// one chunk per head. Facts: src/device/{all_reduce,all_gather,reduce_scatter}.h of NCCL, RunWork
// for NVLS and NVLSTree, the same from 2.21 to 2.30 as long as no user buffers are registered.
//
// Role: lane = index of the part in the partition, position = number of the head.

#include <cstdint>

#include "models/nccl/partition.hpp"
#include "sim/program.hpp"

namespace fabricast {

/// What of a loop passes through a worker.
enum class HeadShare : std::uint8_t {
  one_chunk,  ///< that of its own head
  /// Those of all heads, one after another but waited for and posted together. Its worker class
  /// copies at 1/heads of the rate; each connection carries 1/heads of the loop, rounded up.
  all_chunks
};

class HeadProgram final : public Program {
 public:
  struct Config {
    Collective collective{};
    HeadShare share{};
    std::uint32_t heads = 1;
    std::uint32_t inputs = 0, outputs = 0;  ///< takes part in all of them every time
  };

  /// REQUIRES: every part has elements; at most 32 inputs and outputs.
  HeadProgram(const Config& config, const Partition& partition);

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;
  PrimitiveLabel label(Role role, Cursor cursor) const override;
  std::string_view part(Role role) const override;

  /// Loops of a part: the slices of each of its workers.
  std::uint64_t slices(std::uint32_t lane) const;

 private:
  std::int64_t chunk_elements(std::uint32_t lane, std::uint32_t head, std::uint32_t loop) const;

  Config config_;
  Partition partition_;
  std::uint32_t in_, out_;
};

}  // namespace fabricast
