#pragma once
// The Tree algorithm (AllReduce) as a program of the executor. A rank of a channel is two workers,
// as NCCL splits the block's threads: one reduces up, one broadcasts down, with no barrier between
// them; at the root they are one. Facts: src/device/all_reduce.h, runTreeSplit.
//
// Role: lane = index of the part in the partition; position = role(): every primitive uses all
// connections of its worker. Up: inputs are the children, the output is the parent. Down: the input
// is the parent, outputs are the children. Root: inputs and outputs are the children.

#include <cstdint>

#include "models/nccl/split/partition.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

/// Which of a rank's workers.
enum class TreePart : std::uint8_t { root, up, down };

class TreeProgram final : public LoopProgram {
 public:
  /// The partition outlives it, and what it says is what the partition is when it is asked.
  /// REQUIRES: every part has elements.
  explicit TreeProgram(const Partition& partition) : partition_(partition) {}

  static Role role(std::uint32_t lane, std::uint32_t inputs, std::uint32_t outputs,
                   TreePart part = TreePart::root) {
    return {lane, inputs | outputs << 8 | static_cast<std::uint32_t>(part) << 16};
  }

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;
  PrimitiveLabel label(Role role, Cursor cursor) const override;
  std::string_view part(Role role) const override;

  /// Slices that each worker of a lane handles: one per chunk.
  std::uint64_t slices(std::uint32_t lane) const;

 private:
  std::uint32_t steps(Role) const override { return 1; }
  std::uint32_t loops(Role role) const override {
    return static_cast<std::uint32_t>(slices(role.lane));
  }

  const Partition& partition_;
};

}  // namespace fabricast
