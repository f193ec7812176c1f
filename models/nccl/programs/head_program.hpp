#pragma once
// Programs of the algorithms with heads (NVLS, NVLSTree, CollNet): a message is walked in loops of
// one chunk per head. Facts: src/device/{all_reduce,all_gather,reduce_scatter}.h of NCCL, RunWork
// for NVLS, NVLSTree and CollNet, the same from 2.21 to 2.30 as long as no user buffers are
// registered.

#include <cstdint>

#include "models/nccl/split/partition.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

/// The loops of a call. all_reduce: head h takes chunk h of a loop. all_gather and reduce_scatter:
/// every head walks the shares of its ranks on all nodes, one after another, a chunk a loop.
class HeadChunks {
 public:
  /// REQUIRES: every part has elements.
  HeadChunks(Collective collective, std::uint32_t heads, int nodes, const Partition& partition)
      : is_per_head_(collective == Collective::all_reduce),
        heads_(heads),
        nodes_(nodes),
        partition_(partition) {}

  std::uint32_t heads() const { return heads_; }
  /// A loop has a chunk for each head, not one that all have.
  bool is_per_head() const { return is_per_head_; }
  /// Loops of a part. Strided: those of the whole buffer, dealt out to the channels in turn.
  std::uint32_t loops(std::uint32_t lane) const;
  /// The chunk of one head.
  Bytes one(std::uint32_t lane, std::uint32_t loop, std::uint32_t head) const;
  /// The bytes of all heads, or of the one chunk that all have.
  Bytes all(std::uint32_t lane, std::uint32_t loop) const;
  /// all_gather, reduce_scatter: what of the chunk is the share of this node's rank.
  Bytes of_node(std::uint32_t lane, std::uint32_t loop, int node) const;

 private:
  std::int64_t total(const ChannelPart& part) const;
  std::int64_t turn(const ChannelPart& part, std::uint32_t loop) const;

  bool is_per_head_;
  std::uint32_t heads_;
  int nodes_;
  Partition partition_;
};

/// What of a loop passes through a worker.
enum class HeadShare : std::uint8_t {
  one_chunk,  ///< that of its own head
  /// Those of all heads, one after another but waited for and posted together. Its worker class
  /// copies at 1/heads of the rate; each connection carries 1/heads of the loop, rounded up.
  all_chunks,
  of_node  ///< HeadChunks::of_node()
};

/// Role: lane = index of the part in the partition, position = number of the head; of the node for
/// HeadShare::of_node.
class HeadProgram final : public LoopProgram {
 public:
  struct Config {
    Collective collective{};
    HeadShare share{};
    std::uint32_t heads = 1;
    std::uint32_t inputs = 0, outputs = 0;  ///< takes part in all of them every time
    int nodes = 1;
  };

  /// REQUIRES: every part has elements; at most 32 inputs and outputs.
  HeadProgram(const Config& config, const Partition& partition);

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;
  bool takes_all() const override { return true; }
  std::uint64_t repeats(Role role, std::uint64_t first, std::uint64_t stride) const override;
  PrimitiveLabel label(Role role, Cursor cursor) const override;
  std::string_view part(Role role) const override;

  /// Loops of a part: the slices of each of its workers.
  std::uint64_t slices(std::uint32_t lane) const { return chunks_.loops(lane); }

 private:
  std::uint32_t steps(Role) const override { return 1; }
  std::uint32_t loops(Role role) const override { return chunks_.loops(role.lane); }
  Bytes payload(Role role, std::uint32_t loop) const;

  HeadChunks chunks_;
  HeadShare share_;
  std::uint32_t in_, out_;
};

/// CollNetDirect's scatter and gather: in each loop one chunk to or from every other head, in turn.
/// Connection i is that of the i-th other head. NCCL waits for all of them before the first and
/// posts after the last; here each goes as soon as it can.
class HeadTurnsProgram final : public LoopProgram {
 public:
  enum class Direction : std::uint8_t { sends, receives };

  HeadTurnsProgram(const HeadChunks& chunks, Direction direction)
      : chunks_(chunks), direction_(direction) {}

  /// `own`: number of the head that this rank is, -1 = none. `first`: where it begins, so that
  /// ranks do not hit one head together.
  static Role role(std::uint32_t lane, int own, int first) {
    return {lane, static_cast<std::uint32_t>(own + 1) | static_cast<std::uint32_t>(first) << 16};
  }

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;
  PrimitiveLabel label(Role role, Cursor cursor) const override;
  std::string_view part(Role role) const override;

  std::uint64_t slices(Role role) const;

 private:
  static int own_of(Role role) { return static_cast<int>(role.position & 0xffff) - 1; }
  static int first_of(Role role) { return static_cast<int>(role.position >> 16); }
  /// One for each other head.
  std::uint32_t steps(Role role) const override;
  std::uint32_t loops(Role role) const override { return chunks_.loops(role.lane); }

  HeadChunks chunks_;
  Direction direction_;
};

}  // namespace fabricast
