#pragma once
// What workers execute: primitives generated one after another, never stored.

#include <cstdint>

#include "sim/units.hpp"

namespace fabricast {

/// One step of a worker: wait for a slice on every input in `in` and a free slot on every output in
/// `out`, move the slice once, hand it on; repeat for each slice of the chunk.
struct Primitive {
  std::uint32_t in = 0;      ///< bit i: takes part in the worker's input i
  std::uint32_t out = 0;     ///< bit i: takes part in the worker's output i
  std::uint32_t slices = 1;  ///< slices of the chunk, empty ones at the end included
  Bytes chunk;               ///< payload
  Bytes slice;  ///< payload of all slices but the last full one: min(slice, what is left)
};

/// What a program knows of the worker it is asked for. The program gives both their meaning.
struct Role {
  std::uint32_t lane = 0;      ///< e.g. the channel
  std::uint32_t position = 0;  ///< e.g. the place in the ring
};

/// How far a worker has come. Starts at {0, 0}; only the program changes it.
struct Cursor {
  std::uint32_t major = 0, minor = 0;
};

/// A family of workers' programs: a pure function (role, cursor) -> (primitive, next cursor), so
/// memory does not grow with the number of steps.
class Program {
 public:
  virtual ~Program() = default;
  /// The primitive at `cursor`, and moves the cursor on; false when the worker is done.
  virtual bool next(Role role, Cursor& cursor, Primitive& primitive) const = 0;
};

}  // namespace fabricast
