#pragma once
// What a schedule is built of: links, workers, relays, and connections between them. The executor
// implements it; builders need not know which kind of time stamp it runs with.

#include <cstdint>
#include <span>

#include "sim/base/units.hpp"
#include "sim/links/post_cost.hpp"
#include "sim/links/program.hpp"
#include "sim/links/wire_format.hpp"

namespace fabricast {

/// What workers of one kind have in common.
struct WorkerClass {
  Bandwidth copy_rate;  ///< payload per second; 0 = takes no time
  WireFormat wire;
  Bytes
      first_pass{};  ///< payload of a slice that the overhead covers: only what is beyond it copies
  /// Its stores go out one after another: it is busy until the last byte of a slice has left the
  /// first link. Workers of one program share a link that they send over evenly, so they go on in
  /// step: while they copy without sending (a primitive without outputs), none of them feeds the
  /// link, which stays idle for payload / copy_rate of all of them together. Holds where the first
  /// output ends at a worker.
  bool in_step = false;
  /// In step, too: from slice to slice all of them stop sending for what it costs to send one, in
  /// which the link is idle, as a block's threads wait for each other and for their last stores.
  bool pauses = false;
  /// Those that pause start together and drift apart: the time that the link is idle for them wanes
  /// evenly over so many slices that a worker sends, and then there is none. 0 = they stay in step.
  std::uint32_t in_step_slices = 0;
  /// A primitive without inputs also writes what it sends to the worker's own memory, before that
  /// is sent: payload per second; 0 = it does not.
  Bandwidth keep_rate{};
  /// Payload of a slice that is copied before the first of it enters the first link. Where lines
  /// are seen one by one, as much must have come before the worker begins.
  Bytes copied_ahead{};
  /// A connection's overhead is what it takes to be ready for the next slice, after this one: it
  /// passes while the worker waits anyway, and then relays are told. Else it passes when the slice
  /// is there.
  bool readies = false;

  bool operator==(const WorkerClass&) const = default;
};

/// What relays of one kind have in common.
struct RelayClass {
  PostCost cost;  ///< of its thread, per slice
  WireFormat wire;

  bool operator==(const RelayClass&) const = default;
};

struct LinkSpec {
  Bandwidth rate;  ///< of all lanes
  Duration latency;
  /// Equal cables side by side, of which a slice takes one: it waits only while all are busy.
  std::int64_t lanes = 1;
  /// Messages of many senders meet here: an Exchange books it when their bytes come, in that order.
  bool gathers = false;

  bool operator==(const LinkSpec&) const = default;
};

// A path is a list of links, with marks in their upper bits. A link marked kBeside is crossed at
// the same time as the one before it: together they are one step of the way, as wide as multicast,
// in-switch reduction or several NICs make it, and as slow as its slowest link.
inline constexpr std::uint32_t kBeside = 1u << 31;
inline constexpr std::uint32_t kPiecesMax = 4;
inline constexpr unsigned kPieceBits = 27;
/// The number of a link without its marks.
inline constexpr std::uint32_t kLinkBits = (1u << kPieceBits) - 1;

/// Mark of a link that carries one of several pieces of each slice. REQUIRES: number < pieces.
constexpr std::uint32_t piece_mark(std::uint32_t number, std::uint32_t pieces) {
  return (pieces - 1) << (kPieceBits + 2) | number << kPieceBits;
}
/// What a link of a path carries of a slice. Pieces are equal up to a multiple of 128 bytes, the
/// last has what is left (src/transport/net_ib.cc).
constexpr Bytes piece_of(std::uint32_t marked, Bytes wire) {
  constexpr std::int64_t grain = 128;
  const std::int64_t pieces = (marked >> (kPieceBits + 2) & 3) + 1;
  if (pieces == 1) return wire;
  const std::int64_t number = marked >> kPieceBits & 3;
  const std::int64_t size = ((wire.count + pieces - 1) / pieces + grain - 1) / grain * grain;
  const std::int64_t left = wire.count - number * size;
  return {left < 0 ? 0 : left < size ? left : size};
}

/// Mark of a link that a slice crosses in packets of multimem (in-switch reduction, multicast): it
/// passes fewer data bytes in them, Machine::set_multimem(). Not beside piece_mark().
inline constexpr std::uint32_t kMultimem = 1u << kPieceBits;
constexpr bool is_multimem(std::uint32_t marked) {
  constexpr std::uint32_t marks = ~kBeside & ~kLinkBits;
  return (marked & marks) == kMultimem;
}
/// What multimem adds to bytes, of which its packets carry so large a share of what stores carry.
class MultimemWire {
 public:
  explicit MultimemWire(double efficiency = 1)
      : ratio_(static_cast<std::int64_t>(static_cast<double>(kOne) / efficiency + 0.5)) {}
  Bytes operator()(Bytes wire) const { return {(wire.count * ratio_ + kOne - 1) / kOne}; }

 private:
  static constexpr std::int64_t kOne = 1 << 16;
  std::int64_t ratio_;
};

/// Where the step of a path that begins at `hop` ends.
constexpr std::uint32_t step_end(const std::uint32_t* hops, std::uint32_t hop, std::uint32_t end) {
  do {
    ++hop;
  } while (hop != end && (hops[hop] & kBeside) != 0);
  return hop;
}

struct ConnectionSpec {
  std::uint32_t from = 0, to = 0;       ///< workers or relays
  std::uint32_t slots = 1;              ///< slices in flight
  std::span<const std::uint32_t> path;  ///< links in order, marks allowed; copied; may be empty
  Duration overhead;  ///< of a primitive that sends here, or that only receives from here
  Duration sync;      ///< from the arrival of the last byte to the slot seen full
  Duration credit;    ///< from the end of the receiving worker to the slot seen free
  Duration ack;  ///< from a relay only: from the arrival of the last byte to the relay's knowing
  /// Of slices that come to a link, or to a relay's thread, in one round of an instant, each waits
  /// for half of the others (sharing.cpp); otherwise they are served by the number of who sends.
  bool shares = false;
  /// Every line of a slice says by itself that it is there (LL, LL128), so that a worker takes
  /// lines as they come: it begins at the first one, but so late that it does not wait for a later
  /// one. A relay hands on slices as a whole.
  bool by_line = false;
  /// This one stands for so many connections that do the same at the same time over the same links:
  /// these carry each slice so many times. REQUIRES: shares, if several.
  std::uint32_t copies = 1;
  Duration end_saves{};  ///< less of `overhead` where the primitive only sends, or only receives
};

/// Ids of each kind count up from 0; workers and relays share one count, and equal classes an id.
/// Programs are not owned.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::uint32_t add_link(LinkSpec spec) = 0;
  virtual std::uint32_t add_thread() = 0;
  /// Of links marked kMultimem; without this call they are like the others.
  virtual void set_multimem(MultimemWire wire) = 0;
  virtual std::uint32_t add_worker_class(const WorkerClass& worker_class) = 0;
  virtual std::uint32_t add_relay_class(const RelayClass& relay_class) = 0;
  /// Workers from here on run programs of their own, though they may be those of workers so far.
  virtual void start_call() = 0;
  virtual std::uint32_t add_worker(std::uint32_t worker_class, const Program& program,
                                   Role role) = 0;
  /// Represents `copies` identical relays: each post occupies the thread `copies` times. REQUIRES:
  /// its connections share, if there are several copies.
  virtual std::uint32_t add_relay(std::uint32_t relay_class, std::uint32_t thread,
                                  std::uint32_t copies) = 0;
  /// A worker's inputs and outputs are numbered in the order of these calls, from 0. A relay has
  /// exactly one of each. At most 32 of each, 255 slots, chunks below 4 GiB.
  virtual void connect(const ConnectionSpec& spec) = 0;
  /// Workers and relays so far.
  virtual std::uint32_t workers() const = 0;
};

}  // namespace fabricast
