#pragma once
// The Tree algorithm (AllReduce) as a program of the executor. A rank of a channel is two workers, as
// NCCL splits the block's threads: one reduces up, one broadcasts down, with no barrier between
// them; at the root they are one. Facts: src/device/all_reduce.h, runTreeSplit.
//
// Role: lane = index into the parts given here; position = inputs | outputs << 8: every primitive
// uses all connections of its worker. Up: inputs are the children, the output is the parent. Down:
// the input is the parent, outputs are the children. Root: inputs and outputs are the children.

#include <cstdint>
#include <vector>

#include "models/nccl/slices.hpp"
#include "sim/program.hpp"

namespace fabricast {

/// What one channel of a tree walks over, in elements.
struct TreePart {
  std::int64_t count = 0;
  std::int64_t chunk = 0;
};

class TreeProgram final : public Program {
 public:
  /// REQUIRES: every part has count > 0 and chunk > 0.
  TreeProgram(int element_bytes, std::vector<TreePart> parts)
      : element_bytes_(element_bytes), parts_(std::move(parts)) {}

  static Role role(std::uint32_t lane, std::uint32_t inputs, std::uint32_t outputs) {
    return {lane, inputs | outputs << 8};
  }

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;

  /// Chunks of a lane: slices each of its workers moves.
  std::uint64_t slices(std::uint32_t lane) const;

 private:
  int element_bytes_;
  std::vector<TreePart> parts_;
};

}  // namespace fabricast
