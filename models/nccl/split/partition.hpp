#pragma once
// How NCCL splits a collective over channels, and how large its chunks are: one call, or several
// equal calls of one group, which share the channels (src/enqueue.cc aggregates them).

#include <cstdint>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/split/slices.hpp"

namespace fabricast {

/// What algorithms with heads (NVLS, CollNet) need to know beside the call. A head is a GPU that
/// owns a part of every message of its node.
struct HeadRules {
  int heads = 1;
  Bytes nvls_chunk{128 << 10};
  Bytes nvls_tree_chunk_max{128 << 10};
};

/// Where the rules of chunk size look.
struct ChunkInput {
  NcclVersion version = kNccl2_21_5;
  Algorithm algorithm{};
  Collective collective{};
  Protocol protocol{};
  Bytes size;        ///< message_size() of what is split over `channels`
  int channels = 1;  ///< 2.22+: 1, and `size` is that of one channel's part
  int nodes = 1;
  int ranks = 1;
  BufferSizes buffers{};
  HeadRules heads{};
};

/// Payload bytes of a chunk, before rounding to elements or grains: all the slots of a chunk, which
/// all but Ring, and Tree with LL and Simple, shrink for small messages (src/enqueue.cc,
/// computeCollChunkInfo of 2.21 and calcCollChunking since).
Bytes chunk_size(const ChunkInput& input);

/// 2.22+ rounds chunks down to a multiple of this (src/include/device.h).
constexpr Bytes chunk_grain(Protocol protocol) {
  return {protocol == Protocol::ll ? 16 : protocol == Protocol::ll128 ? 1920 : 512};
}

struct PartitionInput {
  NcclVersion version = kNccl2_21_5;
  Collective collective{};
  Algorithm algorithm{};
  Protocol protocol{};
  std::int64_t count = 0;  ///< elements: per rank for all_gather and reduce_scatter, else in all
  int element_bytes = 4;   ///< 1, 2, 4 or 8
  int calls = 1;           ///< of so many elements each, in one group
  int ranks = 1;
  int nodes = 1;
  int channels = 1;               ///< what the tuner chose for each call
  int communicator_channels = 1;  ///< 2.22+: parts may use up to so many; NVLS has its own number
  int threads = 0;  ///< 2.21: per block, as the tuner chose; parts are aligned to them
  BufferSizes buffers{};
  HeadRules heads{};
};

/// What one channel carries: a contiguous range, walked in loops of chunks. Offsets and counts are
/// in elements of Partition::element_bytes, relative to the start of the buffer (for all_gather and
/// reduce_scatter: to the start of each rank's share).
struct ChannelPart {
  int channel = 0;
  std::int64_t offset_elements = 0;
  std::int64_t count_elements = 0;
  std::int64_t chunk_elements = 0;
  /// Ring all_reduce: the chunk of the last loop when fewer than ranks * chunk_elements are left
  /// (2.21 says 0 when that never happens). Elsewhere equal to chunk_elements.
  std::int64_t last_loop_chunk_elements = 0;
  int call = 0;  ///< of the group, whose buffers these are

  constexpr bool operator==(const ChannelPart&) const = default;
};

struct Partition {
  int element_bytes = 4;  ///< 1 for all_gather and broadcast: NCCL turns them into bytes
  StepShape shape;
  /// By call, then channel; channels without work are left out. A channel works through its parts
  /// of the calls one after another.
  std::vector<ChannelPart> parts;
  /// CollNet, and NVLS over several nodes: every part is the whole buffer, of which the channels
  /// take chunks in turn.
  bool is_strided = false;
};

/// Up to 2.19: loops over the buffer by all channels together. 2.20, 2.21: addCBDCollToPlan and
/// computeColl of src/enqueue.cc. 2.22+: scheduleCollTasksToPlan, cells of equal traffic, with the
/// constants of 2.23, 2.26 (LL counts four times), 2.29 and 2.30. REQUIRES: channels >= 1; count >=
/// 0; a tuned collective.
Partition partition(const PartitionInput& input);

/// A range of elements of the buffer.
struct ElementRange {
  std::int64_t offset = 0;
  std::int64_t count = 0;

  constexpr bool operator==(const ElementRange&) const = default;
};

/// One pass over a part: ranks * chunk elements for a ring's all_reduce, one chunk otherwise.
struct ChunkLoop {
  std::int64_t offset_elements = 0;  ///< of chunk 0
  std::int64_t chunk_elements = 0;   ///< of this loop
  std::int64_t left_elements = 0;    ///< of the part, from here on

  /// Chunk c of the loop; empty when the part ends before it. For all_gather and reduce_scatter use
  /// c = 0: their chunk index names a rank whose share this range lies in.
  constexpr ElementRange chunk(std::uint32_t c) const {
    const std::int64_t from = static_cast<std::int64_t>(c) * chunk_elements;
    const std::int64_t left = left_elements - from;
    return {offset_elements + from, left <= 0 ? 0 : left < chunk_elements ? left : chunk_elements};
  }
};

/// Elements that a full loop covers.
constexpr std::int64_t loop_elements(const ChannelPart& part, Algorithm algorithm,
                                     Collective collective, std::uint32_t ranks) {
  const bool chunk_per_rank = algorithm == Algorithm::ring && collective == Collective::all_reduce;
  return part.chunk_elements * (chunk_per_rank ? static_cast<std::int64_t>(ranks) : 1);
}

/// Number of loops a part takes.
constexpr std::int64_t loop_count(const ChannelPart& part, Algorithm algorithm,
                                  Collective collective, std::uint32_t ranks) {
  const std::int64_t loop = loop_elements(part, algorithm, collective, ranks);
  return (part.count_elements + loop - 1) / loop;
}

/// Loop number `loop`. REQUIRES: 0 <= loop < loop_count().
constexpr ChunkLoop chunk_loop(const ChannelPart& part, Algorithm algorithm, Collective collective,
                               std::uint32_t ranks, std::int64_t loop) {
  const std::int64_t full = loop_elements(part, algorithm, collective, ranks);
  const std::int64_t done = loop * full;
  const std::int64_t left = part.count_elements - done;
  return {part.offset_elements + done,
          left < full ? part.last_loop_chunk_elements : part.chunk_elements, left};
}

}  // namespace fabricast
