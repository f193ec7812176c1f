#pragma once
// What all files of the executor look up and do: slots, and the connections of a worker.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "sim/machines/executor.hpp"

namespace fabricast {

/// The connection of its first output. REQUIRES: it has one.
template <class Stamp>
auto Executor<Stamp>::first_output(const Worker& worker) const -> const Connection& {
  const std::uint32_t first = worker.first_out;
  return connections_[worker.outs == 1 ? first : out_connections_[first]];
}

template <class Stamp>
Stamp& Executor<Stamp>::slot(Connection& connection, std::uint32_t i) {
  return i < kNearSlots ? connection.near_slots[i] : far_slots_[connection.far + i - kNearSlots];
}

/// From when on the receiver may take a slice whose first byte is there at `first`, and the last at
/// `last`. Who takes lines as they come waits for its first pass, and then for what the links take
/// longer than it copies.
template <class Stamp>
Stamp Executor<Stamp>::seen(const ConnectionKind& kind, const Stamp& first, const Stamp& last,
                            Bytes wire) {
  if (kind.line_rate.bytes_per_s == 0 || wire <= kind.first_lines)
    return last.plus(kind.sync, Cause::latency);
  const Duration tail{last.ps - first.ps};
  const Duration rest = transfer_time(wire - kind.first_lines, kind.line_rate);
  const Duration pass{tail.ps * kind.pass.count / wire.count};
  const Duration wait = std::max(tail - rest, pass);
  const Stamp begin = first.plus(kind.sync, Cause::latency);
  return wait > Duration{} ? begin.plus(wait, Cause::link) : begin;
}

/// Asks for the slot, if there is one and it does not stand in the connection.
template <class Stamp>
void Executor<Stamp>::prefetch_far(const Connection& connection, std::uint32_t slot) const {
  if (slot >= kNearSlots && slot < connection.slots)
    __builtin_prefetch(&far_slots_[connection.far + slot - kNearSlots], 1);
}

/// Visits the inputs of the current primitive until one says false; whether none did.
template <class Stamp>
template <bool kSingle, class Visit>
bool Executor<Stamp>::all_inputs(const Worker& worker, Visit visit) {
  if constexpr (kSingle) return worker.in == 0 || visit(connections_[worker.first_in]);
  for (std::uint32_t mask = worker.in; mask != 0; mask &= mask - 1) {
    if (!visit(connections_[worker.first_in + static_cast<unsigned>(std::countr_zero(mask))]))
      return false;
  }
  return true;
}

template <class Stamp>
template <bool kSingle, class Visit>
bool Executor<Stamp>::all_outputs(const Worker& worker, Visit visit) {
  if constexpr (kSingle) return worker.out == 0 || visit(connections_[worker.first_out]);
  const bool one = worker.outs == 1;
  for (std::uint32_t mask = worker.out; mask != 0; mask &= mask - 1) {
    const std::uint32_t i = worker.first_out + static_cast<unsigned>(std::countr_zero(mask));
    if (!visit(connections_[one ? i : out_connections_[i]])) return false;
  }
  return true;
}

/// A neighbour has brought about what a worker may wait for, which is there from `at` on.
template <class Stamp>
void Executor<Stamp>::came(bool& waits, std::uint32_t id, const Stamp& at) {
  if (!waits) return;
  waits = false;
  brought(id, at);
}

/// One of the things that the worker waits for.
template <class Stamp>
void Executor<Stamp>::brought(std::uint32_t id, const Stamp& at) {
  Waits& rest = waits_[id];
  rest.at = later(rest.at, Instant{at.ps});
  if (--rest.missing == 0) queue_.push(later(rest.at, queue_.now()), id);
}

/// The oldest full slot is free again.
template <class Stamp>
void Executor<Stamp>::drain(Connection& connection, Stamp at) {
  slot(connection, connection.next_drain) = at;
  if (++connection.next_drain == connection.slots) connection.next_drain = 0;
  --connection.in_flight;
  --connection.full;
  came(connection.sender_waits, connection.from, at);
}

/// The next slot to fill is the sender's no more, but not yet full.
template <class Stamp>
std::uint32_t Executor<Stamp>::take_slot(Connection& connection) {
  const std::uint32_t slot = connection.next_fill;
  if (++connection.next_fill == connection.slots) connection.next_fill = 0;
  ++connection.in_flight;
  return slot;
}

/// Loads the next primitive. False when the program has ended.
template <class Stamp>
bool Executor<Stamp>::fetch(Worker& worker) {
  if (worker.same == 0) return fetch_other(worker);
  --worker.same;
  worker.left = worker.chunk;
  worker.slices_left = worker.slices;
  return true;
}

/// Of a path from its begin to its end.
template <class Stamp>
Duration Executor<Stamp>::latency_of(std::uint32_t path) const {
  std::int64_t ps = 0;
  std::memcpy(&ps, hops_.data() + path - kLatency, sizeof ps);
  return {ps};
}

}  // namespace fabricast
