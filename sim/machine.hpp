#pragma once
// What a schedule is built of: links, workers, relays, and connections between them. The executor
// implements it; builders need not know which kind of time stamp it runs with.

#include <cstdint>
#include <span>

#include "sim/post_cost.hpp"
#include "sim/program.hpp"
#include "sim/units.hpp"
#include "sim/wire_format.hpp"

namespace fabricast {

/// What workers of one kind have in common.
struct WorkerClass {
  Bandwidth copy_rate;  ///< payload per second; 0 = takes no time
  WireFormat wire;
  Bytes
      first_pass{};  ///< payload of a slice that the overhead covers: only what is beyond it copies
};

/// What relays of one kind have in common.
struct RelayClass {
  PostCost cost;  ///< of its thread, per slice
  WireFormat wire;
};

struct LinkSpec {
  Bandwidth rate;
  Duration latency;

  bool operator==(const LinkSpec&) const = default;
};

/// Mark of a link in a path.
inline constexpr std::uint32_t kBeside = 1u << 31;

struct ConnectionSpec {
  std::uint32_t from = 0, to = 0;  ///< workers or relays
  std::uint32_t slots = 1;         ///< slices in flight
  /// Links in order; copied; may be empty. A link marked kBeside is crossed at the same time as the
  /// one before it: together they are one step of the way, as wide as multicast and in-switch
  /// reduction make it, and as slow as its slowest link.
  std::span<const std::uint32_t> path;
  Duration overhead;  ///< of a primitive that sends here, or that only receives from here
  Duration sync;      ///< from the arrival of the last byte to the slot seen full
  Duration credit;    ///< from the end of the receiving worker to the slot seen free
  Duration ack;  ///< from a relay only: from the arrival of the last byte to the relay's knowing
};

/// Ids of each kind count up from 0; workers and relays share one count. Programs are not owned.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::uint32_t add_link(LinkSpec spec) = 0;
  virtual std::uint32_t add_thread() = 0;
  virtual std::uint32_t add_worker_class(const WorkerClass& worker_class) = 0;
  virtual std::uint32_t add_relay_class(const RelayClass& relay_class) = 0;
  virtual std::uint32_t add_worker(std::uint32_t worker_class, const Program& program,
                                   Role role) = 0;
  virtual std::uint32_t add_relay(std::uint32_t relay_class, std::uint32_t thread) = 0;
  /// A worker's inputs and outputs are numbered in the order of these calls, from 0. A relay has
  /// exactly one of each. At most 32 of each, 255 slots, chunks below 4 GiB.
  virtual void connect(const ConnectionSpec& spec) = 0;
  /// Workers and relays so far.
  virtual std::uint32_t workers() const = 0;
};

}  // namespace fabricast
