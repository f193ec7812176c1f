#pragma once
// What each GPU moves in a kernel of an engine, stage by stage: who sends what to whom, and what it
// means. No time and no links here.

#include <cstdint>
#include <vector>

#include "models/engines/engine.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

enum class MoveKind : std::uint8_t {
  flag,      ///< a word that a peer polls; nothing is summed by it
  request,   ///< of a load, on its way to the memory of the peer
  load,      ///< its answer: no more than a window is under way
  store,     ///< into a peer's memory
  in_switch  ///< summed or multicast by the NVSwitches
};

/// What the bytes of a move are to who gets them.
enum class Payload : std::uint8_t { none, input, sum };

/// A message has as many equal parts as there are GPUs, up to 16 B: the first are larger.
struct KernelMove {
  int from = 0, to = 0;
  MoveKind kind{};
  Bytes bytes;        ///< that cross the links of `from` and `to`
  Payload payload{};  ///< of these parts: the input of `from`, or the sum of all inputs
  int first_part = 0, parts = 0;
};

struct KernelStage {
  std::vector<KernelMove> moves;  ///< side by side; the next stage of a GPU waits for its own ones
  Bytes local;                    ///< of its own memory that each GPU goes over, after nothing else
};

/// The stages in order. REQUIRES: no `nccl`, 2 to 8 GPUs, whole message > 0.
std::vector<KernelStage> plan_kernel(EngineKernel kernel, int gpus, Bytes size);
/// Of part `part`.
Bytes part_bytes(Bytes size, int gpus, int part);

}  // namespace fabricast
