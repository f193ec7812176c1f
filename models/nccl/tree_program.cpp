#include "models/nccl/tree_program.hpp"

#include <algorithm>

namespace fabricast {

bool TreeProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  const TreePart& part = parts_[role.lane];
  const std::int64_t done = cursor.minor * part.chunk;
  if (done >= part.count) return false;
  const std::uint32_t inputs = role.position & 0xff, outputs = role.position >> 8;
  primitive.in = (1u << inputs) - 1;
  primitive.out = (1u << outputs) - 1;
  primitive.slices = 1;
  primitive.chunk = {std::min(part.chunk, part.count - done) * element_bytes_};
  primitive.slice = primitive.chunk;
  ++cursor.minor;
  return true;
}

std::uint64_t TreeProgram::slices(std::uint32_t lane) const {
  const TreePart& part = parts_[lane];
  return static_cast<std::uint64_t>((part.count + part.chunk - 1) / part.chunk);
}

}  // namespace fabricast
