#pragma once
// What workers execute: primitives generated one after another, never stored.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "sim/base/units.hpp"

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

/// What people call a primitive.
struct PrimitiveLabel {
  std::string_view name;  ///< "" = nothing in particular
  std::uint32_t loop = 0, step = 0;
};

/// A family of workers' programs: a pure function (role, cursor) -> (primitive, next cursor), so
/// memory does not grow with the number of steps.
class Program {
 public:
  virtual ~Program() = default;
  /// The primitive at `cursor`, and moves the cursor on; false when the worker is done.
  virtual bool next(Role role, Cursor& cursor, Primitive& primitive) const = 0;

  /// Whether every primitive takes part in all of the worker's inputs and outputs, and has a slice.
  virtual bool takes_all() const { return false; }

  // For a run that jumps over what repeats itself (fast_forward.cpp). Primitives of a role are
  // numbered from 0; a program that says nothing is never jumped over.
  /// The number of the primitive that next() gives at `cursor`.
  virtual std::uint64_t number(Role, Cursor) const { return 0; }
  virtual Cursor cursor_at(Role, std::uint64_t /*number*/) const { return {}; }
  /// How many primitives from number `first` on are each equal to the one `stride` later; at least
  /// so many. REQUIRES: stride > 0.
  virtual std::uint64_t repeats(Role, std::uint64_t /*first*/, std::uint64_t /*stride*/) const {
    return 0;
  }

  // For those who look on; nothing depends on it.
  /// The label of the primitive that next() gives at `cursor`.
  virtual PrimitiveLabel label(Role, Cursor cursor) const {
    return {{}, cursor.major, cursor.minor};
  }
  /// Which part of a rank's thread block the worker is, "" = all of it.
  virtual std::string_view part(Role) const { return {}; }
};

/// Loops of as many steps each, of which each loop but the last is like the first: a cursor is
/// {loop, step}.
class LoopProgram : public Program {
 public:
  std::uint64_t number(Role role, Cursor cursor) const final {
    return std::uint64_t{cursor.major} * steps(role) + cursor.minor;
  }
  Cursor cursor_at(Role role, std::uint64_t number) const final {
    const std::uint32_t of_loop = std::max(steps(role), 1u);
    return {static_cast<std::uint32_t>(number / of_loop),
            static_cast<std::uint32_t>(number % of_loop)};
  }
  std::uint64_t repeats(Role role, std::uint64_t first, std::uint64_t stride) const override {
    const std::uint32_t of_loop = steps(role);
    if (of_loop == 0 || stride % of_loop != 0) return 0;
    return left(std::uint64_t{loops(role) - 1} * of_loop, first, stride);
  }

 protected:
  /// 0 where the role has no primitives.
  virtual std::uint32_t steps(Role role) const = 0;
  virtual std::uint32_t loops(Role role) const = 0;

  /// Of primitives below `end`, which are alike `stride` apart.
  static constexpr std::uint64_t left(std::uint64_t end, std::uint64_t first,
                                      std::uint64_t stride) {
    return end > first + stride ? end - first - stride : 0;
  }
  /// To the next of so many steps, or the next loop.
  static void advance(Cursor& cursor, std::uint32_t steps) {
    if (++cursor.minor == steps) cursor = {cursor.major + 1, 0};
  }
};

}  // namespace fabricast
