#pragma once
// Who takes slices over a part of their way, in place of the links of an executor or an exchange: a
// network of another rung, with events of its own on the same clock. Its user runs its own next
// event or the carrier's, whichever comes first, the carrier's on a tie.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/queues.hpp"
#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Is this link of the machine crossed with the carrier?
  virtual bool takes(std::uint32_t link) const = 0;
  /// One sender's way over links that it takes, in order, marks allowed (kBeside). Numbered from 0;
  /// at any time. Slices of one way arrive in the order of send().
  virtual std::uint32_t add_way(std::span<const std::uint32_t> links) = 0;
  /// The latency of the way's links alone.
  virtual Duration latency(std::uint32_t way) const = 0;
  /// The first byte comes to the way's first link at `at`, which is not before now().
  virtual void send(std::uint32_t way, Instant at, Bytes wire) = 0;
  /// Runs up to the first arrivals, at most up to and including `until`. Tells them, with the time
  /// at which the last byte is behind the way: now() or later. False when there were none.
  using OnArrival = std::function<void(std::uint32_t way, Instant at)>;
  virtual bool advance(Instant until, const OnArrival& on_arrival) = 0;
  virtual Instant now() const = 0;  ///< of the last event

  virtual Bytes carried(std::uint32_t link) const = 0;  ///< wire bytes of slices
  virtual std::uint64_t events() const = 0;
  virtual std::uint64_t digest() const = 0;  ///< hash over every event, in order
};

/// Slices that are with a carrier, by way, in order.
template <class Flight>
class Carriage {
 public:
  bool empty() const { return count_ == 0; }

  void put(std::uint32_t way, const Flight& flight) {
    ways_.push(way, flight);
    ++count_;
  }
  Flight take(std::uint32_t way) {
    --count_;
    return ways_.pop(way);
  }

 private:
  Queues<Flight> ways_;
  std::size_t count_ = 0;
};

/// `flight` has crossed a way of this latency, its last byte is behind it at `at`. The first byte
/// came unhindered; what was waited for counts as the links'.
template <class Flight>
void set_arrived(Flight& flight, Duration latency, Instant at) {
  flight.first = flight.first.plus(latency, Cause::latency);
  flight.last = flight.last.plus(latency, Cause::latency);
  const Duration more{at.ps - flight.last.ps};
  if (more.ps > 0) flight.last = flight.last.plus(more, Cause::link);
}

}  // namespace fabricast
