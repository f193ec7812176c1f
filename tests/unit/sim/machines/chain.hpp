#pragma once
// The program of a chain of workers.

#include "sim/links/program.hpp"

namespace fabricast::testing {

/// `count` chunks from position 0 along a chain of `length` workers.
struct Chain final : Program {
  std::uint32_t length = 0, count = 0;
  Bytes chunk;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == count) return false;
    ++cursor.minor;
    primitive = {role.position > 0 ? 1u : 0u, role.position + 1 < length ? 1u : 0u, 1, chunk,
                 chunk};
    return true;
  }
};

}  // namespace fabricast::testing
