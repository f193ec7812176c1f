#pragma once
// An algorithm that NCCL does not have: a message cut into chunks, and thread blocks that walk
// lists of steps over them, as MSCCL's interpreter runs them (microsoft/msccl,
// src/collectives/device/msccl_interpreter.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/split/slices.hpp"
#include "sim/base/error.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class ChunkBuffer : std::uint8_t { input, output, scratch };
constexpr std::string_view to_text(ChunkBuffer buffer) {
  return enum_words<ChunkBuffer>("input", "output", "scratch")[buffer];
}

/// A chunk of a rank's buffer.
struct ChunkPlace {
  ChunkBuffer buffer{};
  int chunk = 0;

  constexpr bool operator==(const ChunkPlace&) const = default;
};

enum class CustomKind : std::uint8_t {
  send,                   ///< the source
  recv,                   ///< to the target
  recv_copy_send,         ///< to the target, and on
  recv_reduce_send,       ///< added to the source, and on
  recv_reduce_copy,       ///< added to the source, to the target
  recv_reduce_copy_send,  ///< both
  copy,                   ///< the source to the target, of one rank
  reduce,                 ///< the source is added to the target, of one rank
  nop                     ///< waits only
};
constexpr bool receives(CustomKind kind) {
  return kind >= CustomKind::recv && kind <= CustomKind::recv_reduce_copy_send;
}
constexpr bool sends(CustomKind kind) {
  return kind == CustomKind::send || kind == CustomKind::recv_copy_send ||
         kind == CustomKind::recv_reduce_send || kind == CustomKind::recv_reduce_copy_send;
}
constexpr bool reads_source(CustomKind kind) {
  return kind == CustomKind::send ||
         (kind >= CustomKind::recv_reduce_send && kind < CustomKind::nop);
}
constexpr bool writes_target(CustomKind kind) {
  return kind != CustomKind::send && kind != CustomKind::recv_reduce_send &&
         kind != CustomKind::nop;
}
constexpr bool reduces(CustomKind kind) {
  return kind == CustomKind::reduce ||
         (kind >= CustomKind::recv_reduce_send && kind <= CustomKind::recv_reduce_copy_send);
}
/// "recvReduceSend": as NCCL names its primitives.
constexpr std::string_view to_text(CustomKind kind) {
  return enum_words<CustomKind>("send", "recv", "recvCopySend", "recvReduceSend", "recvReduceCopy",
                                "recvReduceCopySend", "copy", "reduce", "nop")[kind];
}

struct CustomStep {
  CustomKind kind{};
  ChunkPlace source, target;
  int count = 1;  ///< chunks in a row
  /// Steps of other blocks of the rank that must be done first.
  struct Wait {
    std::uint32_t block = 0, step = 0;  ///< index in CustomAlgorithm::blocks, and there
  };
  std::vector<Wait> waits;
  int line = 0;  ///< in the file
};

/// A thread block of one rank.
struct CustomBlock {
  int rank = 0, id = 0;
  int send = -1, recv = -1;  ///< the ranks that it speaks with; -1 = none
  int channel = 0;
  std::vector<CustomStep> steps;
  int line = 0;
};

struct CustomAlgorithm {
  std::string name, file;
  Collective collective{};
  int ranks = 0;
  int chunks = 0;                           ///< of a message (message_size())
  int scratch = 0;                          ///< chunks of it on every rank
  int root = 0;                             ///< where has_root()
  std::optional<Protocol> protocol;         ///< nothing = any
  bool in_place = false;                    ///< works where input and output are one buffer
  bool out_of_place = true;                 ///< works where they are two
  std::optional<std::int64_t> least, most;  ///< message bytes for which it is meant
  std::vector<CustomBlock> blocks;          ///< by rank

  int channels() const;
  int inputs() const;   ///< chunks of a rank's input
  int outputs() const;  ///< chunks of a rank's output
  /// "rank 3, threadblock 1, step 2"
  Place place(std::uint32_t block, std::uint32_t step) const;
};

/// MSCCL's slices (src/include/msccl.h: MSCCL_CHUNKSTEPS, MSCCL_SLICESTEPS): Simple those of a
/// ring.
StepShape custom_shape(Protocol protocol);
/// Messages that the slots of a connection hold; without a protocol, of the one with the fewest.
int messages_in_flight(std::optional<Protocol> protocol);

/// Runs it once without time, every chunk as the set of what was added up in it, and every
/// connection with its slots. Throws Error, with the step's place, when sends and receives do not
/// fit together, steps wait for each other for ever, two blocks use a chunk without an order, or a
/// rank does not end with what the collective promises.
void check_algorithm(const CustomAlgorithm& algorithm);

}  // namespace fabricast
