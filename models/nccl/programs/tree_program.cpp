#include "models/nccl/programs/tree_program.hpp"

#include <algorithm>

namespace fabricast {

namespace {

TreePart part_of(Role role) { return static_cast<TreePart>(role.position >> 16); }

}  // namespace

bool TreeProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  const ChannelPart& part = partition_.parts[role.lane];
  const std::int64_t done = cursor.major * part.chunk_elements;
  if (done >= part.count_elements) return false;
  const std::int64_t elements = std::min(part.chunk_elements, part.count_elements - done);
  primitive.in = (1u << (role.position & 0xff)) - 1;
  primitive.out = (1u << (role.position >> 8 & 0xff)) - 1;
  primitive.slices = 1;
  primitive.chunk = {elements * partition_.element_bytes};
  primitive.slice = primitive.chunk;
  ++cursor.major;
  return true;
}

/// NCCL's names (runTreeSplit), as the Ring's: without "direct".
PrimitiveLabel TreeProgram::label(Role role, Cursor cursor) const {
  const bool inputs = (role.position & 0xff) != 0, outputs = (role.position >> 8 & 0xff) != 0;
  std::string_view name = "recvReduceCopySend";
  switch (part_of(role)) {
    case TreePart::root:
      break;
    case TreePart::up:
      name = inputs ? "recvReduceSend" : "send";
      break;
    case TreePart::down:
      name = outputs ? "recvCopySend" : "recv";
      break;
  }
  return {name, cursor.major, 0};
}

std::string_view TreeProgram::part(Role role) const {
  switch (part_of(role)) {
    case TreePart::root:
      return "root";
    case TreePart::up:
      return "up";
    case TreePart::down:
      return "down";
  }
  return {};
}

std::uint64_t TreeProgram::slices(std::uint32_t lane) const {
  const ChannelPart& part = partition_.parts[lane];
  return static_cast<std::uint64_t>((part.count_elements + part.chunk_elements - 1) /
                                    part.chunk_elements);
}

}  // namespace fabricast
