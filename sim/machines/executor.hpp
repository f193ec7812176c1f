#pragma once
// Workers, connections with slots, and links: the machine that runs a collective.
//
// A worker runs a program. Between two workers stands a connection with a fixed number of slots; a
// sender stalls when none is free, a receiver when none is full. A slice starts when the worker is
// free, its input slots are full and its output slots are free. The worker is then busy for
//     overhead(connection) + payload / copy_rate(worker class)
// An empty slice takes it no time: nothing is stored that a flag would have to wait for.
// Its bytes enter the first link of the path after the overhead. A link is a server with a queue in
// order of arrival: it is booked for wire_bytes / rate from max(arrival of the first byte,
// busy_until), and bytes pass cut-through. Of several that come in one round of an instant
// the sender with the least number goes first, or, where their connections share, none of them
// (sharing.cpp). Where ways of different latency join, a link is booked when the
// first byte comes, by an event that events() leaves out; elsewhere links are booked ahead when the
// slice starts. The slot is full at the receiver at
//     max(end of the worker, end of the slowest link) + latencies of the path + sync(connection)
// or, where its lines are seen one by one (ConnectionSpec::by_line), earlier by the receiver's
// payload / copy_rate, but not before its first pass is there (WorkerClass::copied_ahead);
// and an input slot is free again at the sender one credit latency after the worker's end. A
// primitive without outputs books no link; that of a worker in step keeps one idle (WorkerClass).
// A step of a path can be several links wide (multicast, in-switch reduction): they are booked side
// by side, and the slowest counts.
//
// A relay is a worker that copies nothing: it hands every slice on, unchanged, after its thread (a
// server of many relays, with a queue as that of a link) has been busy for the post. Its input slot
// is free again when the far end has acknowledged the slice.
//
// Exact and deterministic: times are integers, events are totally ordered (radix_heap.hpp), nothing
// depends on addresses. One event is one slice of one worker or relay. No globals: executors can
// run side by side. Links lose slices only where an Outage says so, and can be left to another rung
// (transit.hpp). Not modelled here: shares of a link among slices that come one after another,
// memory traffic.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/base/distinct_ways.hpp"
#include "sim/base/large_pages.hpp"
#include "sim/base/radix_heap.hpp"
#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"
#include "sim/links/carrier.hpp"
#include "sim/links/machine.hpp"
#include "sim/links/outage.hpp"
#include "sim/links/program.hpp"
#include "sim/machines/executor_records.hpp"
#include "sim/machines/gates.hpp"
#include "sim/machines/guest.hpp"
#include "sim/machines/observer.hpp"
#include "sim/machines/transit.hpp"

namespace fabricast {

template <class Stamp>
class Executor final : public Machine {
 public:
  // Building; see Machine. REQUIRES: nothing runs yet.
  std::uint32_t add_link(LinkSpec spec) override { return transit_.links.add(spec); }
  std::uint32_t add_thread() override;
  void set_multimem(MultimemWire wire) override { transit_.multimem = wire; }
  void start_call() override {
    programs_before_ = programs_.size();
    workers_before_ = workers_.size();
    connections_before_ = connections_.size();
  }
  /// So many workers and connections more are about to be added.
  void expect(std::size_t workers, std::size_t connections);
  /// Adds the last call once more, over the same links and threads; returns its first worker.
  /// REQUIRES: no thread is its own.
  std::uint32_t repeat_call();
  std::uint32_t add_worker(std::uint32_t worker_class, const Program& program, Role role) override;
  std::uint32_t add_relay(std::uint32_t relay_class, std::uint32_t thread,
                          std::uint32_t copies) override;
  std::uint32_t add_worker_class(const WorkerClass& worker_class) override;
  std::uint32_t add_relay_class(const RelayClass& relay_class) override;
  void connect(const ConnectionSpec& spec) override;
  std::uint32_t workers() const override { return static_cast<std::uint32_t>(workers_.size()); }

  // Not of a PlainStamp. REQUIRES: nothing runs yet.
  /// Tells `observer`, who outlives the run, of everything.
  void watch(Observer& observer) requires(Stamp::kCausal) { observer_ = &observer; }
  /// While the link, which has this rate, is down, it loses what it carries. Lost slices are sent
  /// again from where they were lost, and hold up what follows them on their connection only. One
  /// that is given up never arrives.
  void set_outage(std::uint32_t link, Bandwidth rate,
                  const Outage& outage) requires(Stamp::kCausal) {
    transit_.failing.set_outage(link, rate, outage);
  }
  void set_retry(const Retry& retry) requires(Stamp::kCausal) { transit_.failing.set_retry(retry); }
  const Losses& losses() const { return transit_.failing.losses(); }
  /// Slices cross the links that `carrier` takes with it; it outlives the run.
  void hand_over(Carrier& carrier) requires(Stamp::kCausal) { transit_.carrier = &carrier; }

  /// From this event on looks for states that repeat themselves, and jumps over whole periods of
  /// them: exact, but the digest then covers the jump, not the events in it. No effect on machines
  /// too large to keep a copy of, with gates or with a guest, that are watched, lose slices or
  /// leave them to a carrier.
  void set_fast_forward(std::uint64_t first_event) { repetition_.first_look = first_event; }
  std::uint64_t events_skipped() const { return repetition_.events_skipped; }
  /// The clock and the links, for a guest that outlives the run.
  RadixHeap& queue() { return queue_; }
  Transit<Stamp>& transit() { return transit_; }
  void host(Guest<Stamp>& guest) { guest_ = &guest; }
  void add_gate(const GateSpec& gate) { gates_.add(gate); }

  /// Until nothing is left to do. `progress` is called now and then with the events so far;
  /// `alone` with the share done of a guest where there are no workers.
  /// Throws std::logic_error naming who waits for what when the programs do not fit together.
  void run(const std::function<void(std::uint64_t)>& progress = {},
           const std::function<void(double)>& alone = {});

  /// Keeps what it is before the first event. REQUIRES: everything has been added; no guest, no
  /// carrier, no outages.
  void keep_start();
  /// Back to before the first event, to run again: programs may have changed what they say, but not
  /// how many they are. REQUIRES: keep_start() before the run.
  void rewind();

  // Results.
  Stamp finished(std::uint32_t worker) const { return workers_[worker].free; }
  Stamp makespan() const;  ///< the latest finish of any worker, or of the guest
  std::uint64_t events() const { return events_ + (guest_ == nullptr ? 0 : guest_->events()); }
  std::uint64_t digest() const { return digest_; }  ///< hash over every event, in order
  Bytes carried(std::uint32_t link) const { return transit_.links[link].carried; }  ///< wire bytes
  std::size_t memory_bytes() const;  ///< of workers, connections, slots and links

 private:
  using Link = typename LinkServers<Stamp>::Link;
  using Records = ExecutorRecords<Stamp>;
  using Flight = typename Records::Flight;
  using Piece = typename Records::Piece;
  using Foremost = typename Records::Foremost;
  using CrossingPiece = typename Records::CrossingPiece;
  using Post = typename Records::Post;
  using Share = typename Records::Share;
  using Claim = typename Records::Claim;
  using Leg = typename Records::Leg;
  using Connection = typename Records::Connection;
  using Crossbar = typename Records::Crossbar;
  using ConnectionKind = typename Records::ConnectionKind;
  using Worker = typename Records::Worker;
  using Course = typename Records::Course;
  using Waits = typename Records::Waits;
  using Thread = typename Records::Thread;

  void lay_path(std::span<const std::uint32_t> path, bool shares);
  std::vector<std::uint32_t> by_receiver() const;
  void seal();
  /// Lays out what has been added and shuts the gates, once.
  void prepare();
  // Inlined: GCC drops calls of a function that does nothing but prefetch.
  [[gnu::always_inline]] inline void prefetch(std::uint32_t actor, unsigned depth) const;
  [[gnu::always_inline]] inline void prefetch_many(const Worker& worker, unsigned depth) const;
  [[gnu::always_inline]] inline void prefetch_far(const Connection& connection,
                                                  std::uint32_t slot) const;
  [[gnu::always_inline]] inline void prefetch_leg(std::uint32_t actor, unsigned depth) const;
  Stamp& slot(Connection& connection, std::uint32_t i);
  [[gnu::always_inline]] static inline Stamp seen(const ConnectionKind& kind, const Stamp& first,
                                                  const Stamp& last, Bytes wire);
  [[gnu::always_inline]] inline bool fetch(Worker& worker);
  [[gnu::noinline]] bool fetch_other(Worker& worker);
  std::uint32_t alike_ahead(const Worker& worker, std::uint64_t number);
  // Most workers have one input and one output: they get a version of the hot path of their own.
  template <bool kSingle>
  Stamp start_of(const Worker& worker);
  template <bool kSingle>
  [[gnu::always_inline]] inline Waits look(const Worker& worker);
  template <bool kSingle, class Visit>
  [[gnu::always_inline]] inline bool all_inputs(const Worker& worker, Visit visit);
  template <bool kSingle, class Visit>
  [[gnu::always_inline]] inline bool all_outputs(const Worker& worker, Visit visit);
  template <bool kSingle>
  Duration overhead(const Worker& worker, bool is_end);
  template <bool kSingle>
  [[gnu::always_inline]] inline void schedule_by(const Worker& worker);
  [[gnu::noinline]] void schedule(std::uint32_t id);
  template <bool kSingle>
  [[gnu::always_inline]] inline void go_on(Worker& worker);
  [[gnu::always_inline]] inline void came(bool& waits, std::uint32_t id, const Stamp& at);
  [[gnu::always_inline]] inline void brought(std::uint32_t id, const Stamp& at);
  // Of a worker with a crossbar; see executor_crossbars.cpp.
  Duration crossbar_overhead(const Worker& worker) const;
  void look_at_crossbar(const Worker& worker, Waits& out);
  void fill_crossbar(const Worker& worker, Stamp end);
  void drain_crossbar(const Worker& worker, Stamp end);
  void call(std::uint32_t waiting, std::uint8_t& count, const Stamp& at);
  struct Candidates;
  void find_crossbars();
  bool may_be_crossed(const Connection& connection) const;
  bool are_crossed(std::span<const std::uint32_t> in, std::span<const std::uint32_t> out,
                   const Candidates& candidates) const;
  void add_crossbar(std::span<const std::uint32_t> in, std::span<const std::uint32_t> out);
  void drop_crossed(const std::vector<std::uint32_t>& candidates);
  void take_all_of_crossed();
  std::string stuck_at_crossbar(const Worker& worker) const;
  [[gnu::noinline]] void act(std::uint32_t id, Instant now);
  template <bool kSingle>
  void act_worker(Worker& worker, Stamp start);
  [[gnu::always_inline]] inline void act_plainly(Worker& worker, Stamp start);
  [[gnu::always_inline]] inline void wait_for_both(const Worker& worker, Connection& in,
                                                   Connection& out);
  const Connection& first_output(const Worker& worker) const;
  bool goes_in_step(const Connection& connection) const;
  void count_in_step();
  void find_plain();
  void find_alike();
  Duration latency_of(std::uint32_t path) const;
  [[gnu::noinline]] void leave_idle(const Worker& worker, Stamp start, Duration busy);
  void pause(Worker& worker, Stamp begin, Duration overhead);
  Duration still_in_step(const Worker& worker, Duration together) const;
  bool has_drifted(const Worker& worker) const;
  void act_relay(std::uint32_t id, Stamp start);
  void post(const Post& post, Stamp end, bool alone);
  void show_post(const Post& post, Stamp begin, Stamp end) const;
  std::vector<bool> joints() const;
  void lay_legs();
  [[gnu::noinline]] void send(Connection& connection, std::uint32_t slot, Stamp first, Stamp last,
                              Bytes wire, bool alone);
  [[gnu::always_inline]] inline Stamp send_plainly(Connection& connection, std::uint32_t slot,
                                                   Stamp first, Stamp last, Bytes wire);
  [[gnu::always_inline]] inline Stamp carry(const Connection& connection, std::uint32_t hop,
                                            std::uint32_t end, Stamp& first, Stamp last,
                                            Bytes wire);
  Stamp carry_wide(std::uint32_t hop, std::uint32_t end, Stamp& first, Stamp last, Bytes wire);
  [[gnu::always_inline]] inline std::uint32_t take_slot(Connection& connection);
  [[gnu::always_inline]] inline Piece& add_piece(const Connection& connection, std::uint32_t hop,
                                                 std::uint32_t hop_end, std::uint32_t next_leg);
  void cross(Piece& piece);
  [[gnu::always_inline]] inline void prefetch_ends(std::size_t piece) const;
  [[gnu::always_inline]] inline void prefetch_ways(std::size_t post) const;
  void finish(const Piece& piece);
  [[gnu::always_inline]] inline void arrive(Connection& connection, std::uint32_t slot,
                                            const Stamp& first, Stamp last, Bytes wire);
  // Servers and those who come to them in one round; see sharing.cpp. What is inline stays there.
  void settle();
  void settle_posts();
  [[gnu::always_inline]] inline void settle_pieces();
  [[gnu::always_inline]] inline bool goes_with_another(std::uint32_t number);
  [[gnu::always_inline]] inline void finish_pieces();
  [[gnu::always_inline]] inline bool settle_step();
  [[gnu::always_inline]] inline bool request_links(const Piece& piece);
  [[gnu::always_inline]] inline void cross_next_links(CrossingPiece& behind);
  [[gnu::always_inline]] inline void start_round();
  [[gnu::always_inline]] inline void add_claim(std::uint32_t id, std::uint32_t& share_of_link,
                                               std::uint32_t who, Stamp head, Duration occupied,
                                               std::int64_t times, Bytes wire);
  void enqueue(std::uint32_t leg, Stamp first, Stamp last, Bytes wire, std::uint32_t slot);
  void arm_leg(std::uint32_t leg);
  void act_leg(std::uint32_t leg);
  bool is_watched() const { return Stamp::kCausal && observer_ != nullptr; }
  void arrived(std::uint32_t way, Instant at);
  [[gnu::always_inline]] inline void drain(Connection& connection, Stamp at);
  void release(Connection& connection, Stamp at);
  void acknowledge(const Connection& connection, Stamp at);
  ObservedSlice slice_of(Worker& worker, Stamp start, std::uint32_t payload);
  ObservedWait wait_of(Worker& worker, Stamp start);
  void show_departure(const Connection& connection, std::uint32_t slot, Stamp end) const;
  std::span<const std::uint32_t> path(const Connection& connection) const {
    return path(connection.path);
  }
  std::span<const std::uint32_t> path(std::uint32_t at) const {
    return {hops_.data() + at + 1, hops_[at]};
  }
  std::uint32_t id_of(const Worker& worker) const {
    return static_cast<std::uint32_t>(&worker - workers_.data());
  }
  std::uint32_t id_of(const Connection& connection) const {
    return static_cast<std::uint32_t>(&connection - connections_.data());
  }
  std::string stuck();
  [[gnu::always_inline]] inline std::uint32_t step(
      const std::function<void(std::uint64_t)>& progress);
  void run_events(const std::function<void(std::uint64_t)>& progress);
  template <int kDepth>
  void run_rounds(const std::function<void(std::uint64_t)>& progress);
  void pause(const std::function<void(std::uint64_t)>& progress);

  void start_guest();
  void open_gates();
  void start(const Parties& waiters, Stamp at);
  [[gnu::noinline]] void ended(std::uint32_t worker);
  [[gnu::noinline]] void act_other(std::uint32_t actor);

  [[gnu::noinline]] static void look_up_cost(Cost& cost, const WorkerClass& kind,
                                             std::int64_t payload);
  [[gnu::noinline]] static void look_up_cost(Cost& cost, const RelayClass& kind,
                                             std::int64_t payload);

  static constexpr std::uint64_t kEventsPerPause = 1 << 20;
  static constexpr std::uint64_t kFirstDigest = 0xcbf29ce484222325u;
  static constexpr std::uint32_t kNearSlots = Records::kNearSlots;
  static constexpr std::uint32_t kCrossbarSlots = Records::kCrossbarSlots;
  // Before the links of a path, in words before their number: where its first leg begins (behind
  // the last one: nowhere), and its latency.
  static constexpr std::uint32_t kFirstCut = 1, kLatency = 3, kPathHead = 3;
  static constexpr std::uint32_t kNobody = Records::kNobody;
  /// Workers whose state no near cache holds: then it pays to ask for it ahead of time.
  static constexpr std::size_t kLarge = 4096;
  /// And links, too.
  static constexpr std::size_t kHuge = 32768;

  /// Paths and where in hops_ each begins.
  struct Paths {
    DistinctWays ways;
    std::vector<std::uint32_t> begin;
  };

  /// What a running machine is, between two instants. The queue follows from it.
  struct State {
    Instant now, floor;  ///< nothing that happens from now on asks for a time before the floor
    std::uint64_t events = 0;
    std::uint64_t fingerprint = 0;
    HugePageVector<Worker> workers;
    HugePageVector<Course> courses;
    HugePageVector<Connection> connections;
    HugePageVector<Crossbar> crossbars;
    HugePageVector<Waits> waits;  ///< where there are crossbars
    HugePageVector<Stamp> far_slots;
    HugePageVector<std::uint32_t> slot_payload;
    HugePageVector<Leg> legs;
    HugePageVector<Flight> flights;
    HugePageVector<Link> links;
    std::vector<IdleTimes> idle_times;  ///< of links of several lanes
    std::vector<Thread> threads;
    std::vector<Duration> idle, idle_seen;
    std::vector<std::uint32_t> sent_in_step;
  };

  void save(State& state) const;
  void restore(const State& state);

  /// Looks for states that repeat themselves, and jumps over what repeats (fast_forward.cpp).
  class Repetition {
   public:
    std::uint64_t first_look = UINT64_MAX;  ///< event
    std::uint64_t events_skipped = 0;

    /// Picks an unfinished worker: the state is compared each time it starts a slice.
    void watch_somebody(const Executor& machine);
    bool watches(std::uint32_t worker) const { return worker == watched_; }
    void try_jump(Executor& machine);

   private:
    /// A state to compare others with.
    struct Kept {
      std::unique_ptr<State> state;
      std::uint64_t looks = 0, looks_max = 0, comparisons = 0;
    };

    static bool may_jump(const Executor& machine);
    static Instant floor(const Executor& machine);
    std::uint64_t fingerprint(const Executor& machine) const;
    static void save(Kept& kept, const Executor& machine, std::uint64_t print);
    static bool repeats(const State& was, const Executor& machine);
    static bool repeats(const State& was, const Executor& machine, Instant floor,
                        const Stamp& period, std::uint32_t connection);
    static bool repeats(const State& was, const Executor& machine, Instant floor,
                        const Crossbar& before, const Crossbar& is);
    /// From that state to this one, and what it is made of.
    static Stamp period_since(const State& was, const Executor& machine);
    static std::uint64_t next_primitive(const Executor& machine, const Worker& worker,
                                        const Course& course);
    static std::uint64_t periods_ahead(const State& was, const Executor& machine);
    void jump(const State& was, Executor& machine, std::uint64_t periods);

    std::uint32_t watched_ = kNobody;  ///< worker whose slices are the moments to look
    std::array<Kept, 2> kept_;         ///< one for twice as long each time, one for short
  };

  HugePageVector<Worker> workers_;
  HugePageVector<Course> courses_;  ///< by worker
  HugePageVector<Waits> waits_;     ///< by worker
  // Of links that workers which pause in step send over, and of these workers: for how long the
  // link was idle so far, and had been at the worker's last slice; negative before the first.
  std::vector<Duration> idle_, idle_seen_;
  std::vector<std::uint32_t> sent_in_step_;  ///< slices of each worker, at most in_step_slices
  HugePageVector<Connection>
      connections_;  ///< sorted by receiver: a worker's inputs are neighbours
  HugePageVector<std::uint32_t> out_connections_;  ///< of workers with several
  HugePageVector<Crossbar> crossbars_;
  HugePageVector<std::uint32_t> crossbar_waiting_;  ///< workers
  HugePageVector<Stamp> far_slots_;
  HugePageVector<std::uint32_t> slot_payload_;  ///< of sized connections; empty when there is none
  HugePageVector<std::uint32_t> hops_;
  std::vector<std::uint8_t> times_;  ///< by hop: its link is crossed so many times at once
  HugePageVector<Leg> legs_;         ///< leg i is actor workers_.size() + i
  HugePageVector<Flight> flights_;   ///< of all legs: few are on their way, and share few places
  static constexpr std::uint32_t kNoFlight = UINT32_MAX;
  std::uint32_t free_flight_ = kNoFlight;  ///< the one left last
  /// While building: equal ones stand in hops_ once; those that are shared or in step apart.
  std::array<Paths, 4> paths_;
  std::vector<ConnectionKind> connection_kinds_;
  Transit<Stamp> transit_;
  std::vector<Thread> threads_;
  std::vector<const Program*> programs_;
  std::size_t programs_before_ = 0;                          ///< those of the calls before
  std::size_t workers_before_ = 0, connections_before_ = 0;  ///< likewise
  std::vector<WorkerClass> worker_classes_;
  std::vector<RelayClass> relay_classes_;
  std::vector<CostTable> worker_costs_, relay_costs_;
  RadixHeap queue_;
  bool alone_ = false;                 ///< who acts is all of its round
  std::vector<Piece> pieces_;          ///< of the running round
  HugePageVector<Foremost> foremost_;  ///< by the hop that pieces begin at
  std::vector<Post> posts_;
  std::vector<Share> shares_;
  std::vector<Claim> claims_;
  std::vector<CrossingPiece> crossing_;  ///< of pieces that share links
  std::uint32_t round_ = 0;
  bool is_large_ = false, is_huge_ = false;
  bool is_shared_ = false;  ///< some connections share
  std::uint64_t events_ = 0;
  std::uint64_t digest_ = kFirstDigest;
  bool is_prepared_ = false;
  std::unique_ptr<State> start_;  ///< before the first event, if it is kept
  Repetition repetition_;
  Gates<Stamp> gates_;
  Guest<Stamp>* guest_ = nullptr;
  Observer* observer_ = nullptr;
  // Of slices that are left to a carrier:
  Carriage<Flight> carriage_;
  static constexpr std::uint32_t kNoWay = UINT32_MAX;
  std::vector<std::uint32_t> way_of_leg_, leg_of_way_;
};

extern template class Executor<PlainStamp>;
extern template class Executor<CausalStamp>;

}  // namespace fabricast
