#pragma once
// The `flow` rung: transfers as fluids that share links max-min fairly (max_min.hpp), with rates
// constant between events. An event is the start or the end of a flow, or a change of a link. Rates
// follow once all events of an instant are known: a flow that ends and sends on at once keeps its
// own, and nobody else's changes.
//
// Exact: progress is counted in 2^-16 x 1e-12 B, so it carries no error however often a rate
// changes; ends are rounded up to the next picosecond. The last byte of a flow arrives the
// latencies of its links after its last byte left. Not modelled: queues, packet sizes, congestion
// control, losses, and the time a change of rates takes to get about (see `packet`).

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/indexed_heap.hpp"
#include "sim/base/units.hpp"
#include "sim/fluid/max_min.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

struct FluidSpec {
  Instant start;
  Bytes size;                            ///< kEndless: background, until stop()
  std::span<const std::uint32_t> links;  ///< copied; a link named twice is crossed twice
  std::uint32_t weight = 1;              ///< share in its priority, >= 1
  std::uint8_t priority = 0;             ///< strict: the highest first
  Bandwidth cap;                         ///< of a queue pair, a NIC, a sender's copies; 0 = none
  bool again = false;                    ///< send_again() may follow

  static constexpr Bytes kEndless{INT64_MAX};
};

class FlowNetwork {
 public:
  std::uint32_t add_link(LinkSpec spec);
  /// At any time, with start >= now(). Ids count up from 0.
  std::uint32_t add_flow(const FluidSpec& spec);
  /// More over the way of a flow, as one of its own. REQUIRES: ended(flow), FluidSpec::again,
  /// start >= now().
  void send_again(std::uint32_t flow, Instant start, Bytes size);
  /// From now on; 0 = down: its flows stand still.
  void set_rate(std::uint32_t link, Bandwidth rate) { shares_.set_capacity(link, rate); }
  /// Ends a flow now, done or not.
  void stop(std::uint32_t flow);

  /// Runs events up to and including `until`; the clock then stands there. `on_end` is called when
  /// the last byte of a flow leaves; it may add flows, e.g. from arrived(flow) on. Rates are those
  /// before the events of the instant.
  using OnEnd = std::function<void(std::uint32_t flow)>;
  void run_until(Instant until, const OnEnd& on_end = {});
  static constexpr Instant kForever{INT64_MAX};
  /// When the next flow starts or ends, as things stand; kForever, or later, when none does up to
  /// and including `until`.
  Instant next(Instant until = kForever);
  /// Until nothing more can end: all done, or all that is left is endless or stands still.
  void run(const OnEnd& on_end = {});

  Instant now() const { return now_; }
  bool ended(std::uint32_t flow) const { return flows_[flow].state == State::ended; }
  /// When its last byte left and when it arrived, the last time. REQUIRES: ended(flow).
  Instant left(std::uint32_t flow) const { return flows_[flow].since; }
  Instant arrived(std::uint32_t flow) const { return left(flow) + flows_[flow].latency; }
  Bandwidth rate(std::uint32_t flow) const;
  Bytes sent(std::uint32_t flow) const;  ///< so far, rounded down
  Bandwidth load(std::uint32_t link) const { return shares_.load(link).whole(); }
  std::uint64_t events() const { return events_; }  ///< starts and ends
  std::uint64_t digest() const { return digest_; }  ///< hash over every event, in order
  std::uint64_t shares_computed() const { return shares_.visits(); }

 private:
  __extension__ using Wide = __int128;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  enum class State : std::uint8_t { waiting, running, ended };

  struct Flow {
    Wide left = 0;  ///< in 2^-16 x 1e-12 B; of an endless flow what it has sent, negative
    Instant since;  ///< `left` is of this instant
    FineRate rate;
    Duration latency;
    Bytes size;
    std::uint32_t share = kNone;    ///< its id in shares_
    std::uint32_t pending = kNone;  ///< index in pending_ until it first shares
    State state = State::waiting;
    bool again = false;
    bool is_sharing = false;  ///< takes part in shares_; once it has ended, until rates follow
  };
  /// What only a flow that has not started needs.
  struct Pending {
    std::vector<std::uint32_t> links;
    FluidSpec spec;
  };

  void start(std::uint32_t id);
  void join(std::uint32_t id);
  void leave_pending(Flow& flow);
  void schedule_end(std::uint32_t id);
  void end(std::uint32_t id);
  void take_part_in(Instant now, const OnEnd& on_end);
  void share();
  Wide left_at(const Flow& flow, Instant at) const;

  MaxMin shares_;
  std::vector<Duration> latencies_;  ///< by link
  std::vector<Flow> flows_;
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> free_pending_;
  std::vector<std::uint32_t> flow_of_share_;
  // Since rates were brought up to date: flows that have ended, and that have begun, with a share
  // of before.
  std::vector<std::uint32_t> ended_, continued_;
  IndexedHeap starts_, ends_;
  Instant now_;
  std::uint64_t events_ = 0, digest_ = 0;
};

}  // namespace fabricast
