#pragma once
// Who watches an executor: told of everything that takes time, as it happens. What links carry
// a LinkObserver is told of (transit.hpp).

#include <cstdint>

#include "sim/base/units.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

/// What a worker waited for last before a slice: a slot of one of its connections.
struct ObservedWait {
  enum class For : std::uint8_t { nothing, full_slot, free_slot };
  For what = For::nothing;
  std::uint32_t connection = 0, slot = 0;
  std::uint32_t peer = 0;  ///< the worker or relay at the other end
};

/// One slice in the hands of a worker: it was free at `free`, and busy from `start` to `end`.
struct ObservedSlice {
  std::uint32_t worker = 0;
  Instant free, start, end;
  Bytes payload;
  ObservedWait wait;  ///< nothing when start == free
};

/// Connections are numbered by the executor, workers, relays and links as in Machine.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A worker takes up the primitive that its program gave at `cursor`.
  virtual void takes_up(std::uint32_t worker, Cursor cursor) = 0;
  virtual void handles(const ObservedSlice& slice) = 0;
  /// A relay's thread is busy with a slice.
  virtual void relays(std::uint32_t relay, std::uint32_t thread, Instant start, Instant end,
                      Bytes payload) = 0;
  /// A slice for this slot sets out. On links that are free and fast it would arrive `unhindered`.
  virtual void departs(std::uint32_t connection, std::uint32_t slot, Instant unhindered) = 0;
  /// Its last byte is there; the receiver has yet to see it.
  virtual void arrives(std::uint32_t connection, std::uint32_t slot, Instant at) = 0;
};

}  // namespace fabricast
