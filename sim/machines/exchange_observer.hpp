#pragma once
// Who watches an exchange: told of everything that takes time, as it happens.

#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

/// Blocks, threads and links as in Exchange. A message's number is its own from the first opens()
/// to the last receives(); both ends handle its chunks in order.
class ExchangeObserver {
 public:
  virtual ~ExchangeObserver() = default;
  /// One end of a message begins: the send (or receive) number `lane` of the block's batch.
  virtual void opens(std::uint32_t message, std::uint32_t block, std::uint32_t peer, bool sending,
                     std::uint32_t lane, Instant at) = 0;
  /// The lane of that end is busy with a chunk.
  virtual void handles(std::uint32_t message, bool sending, Instant start, Instant end,
                       Bytes payload) = 0;
  virtual void copies(std::uint32_t block, std::uint32_t lane, Instant start, Instant end,
                      Bytes bytes) = 0;
  /// A thread is busy with a chunk's post: `payload` is sent, or a slot is offered for it.
  virtual void posts(std::uint32_t message, std::uint32_t thread, bool sending, Instant start,
                     Instant end, Bytes payload) = 0;
  /// A chunk sets out for the receiver. On links that are free and fast it would arrive
  /// `unhindered`.
  virtual void departs(std::uint32_t message, Instant unhindered) = 0;
  /// Its last byte is there; the receiver has yet to see it.
  virtual void arrives(std::uint32_t message, Instant at) = 0;
};

}  // namespace fabricast
