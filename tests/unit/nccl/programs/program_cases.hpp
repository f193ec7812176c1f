#pragma once
// Programs of rings and trees, read as a worker reads them.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "models/nccl/programs/ring_program.hpp"

namespace fabricast::testing {

/// The worker's whole program.
inline std::vector<Primitive> primitives(const Program& program, Role role) {
  std::vector<Primitive> out;
  Cursor cursor;
  for (Primitive primitive; program.next(role, cursor, primitive);) out.push_back(primitive);
  return out;
}

/// Bytes of each slice, as the executor cuts them.
inline std::vector<std::int64_t> slice_bytes(const Primitive& primitive) {
  std::vector<std::int64_t> out;
  std::int64_t left = primitive.chunk.count;
  for (std::uint32_t i = 0; i < primitive.slices; ++i) {
    out.push_back(std::min(left, primitive.slice.count));
    left -= out.back();
  }
  CHECK(left == 0);
  return out;
}

inline RingProgram ring_program(const PartitionInput& p, const Partition& split,
                                const std::vector<std::uint32_t>& root_index = {},
                                bool in_place = false) {
  return RingProgram({p.collective, p.protocol, static_cast<std::uint32_t>(p.ranks),
                      step_size(p.protocol, p.buffers), in_place},
                     split, root_index);
}

}  // namespace fabricast::testing
