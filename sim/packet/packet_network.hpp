#pragma once
// The `packet` rung: every packet of every message, through queues of switches, under credits or
// pauses, with marks, rate control, losses and retries. Slow and detailed: it is there to check the
// other rungs and to study what they cannot show.
//
// A packet is passed on cut-through: a switch may send its first byte as soon as it is there and
// the way is free, or as late as needed for the last byte not to run dry on a faster link. An
// egress port picks, among lanes that have something to send and may send it, the lane by priority
// and weight, and in it the next ingress port in turn. Acknowledgements, marks' notifications,
// credits and pauses travel back in the time of the way, but take no bandwidth.
//
// Exact and deterministic: integer time, totally ordered events (event_heap.hpp), own random
// streams.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sim/base/event_heap.hpp"
#include "sim/base/random.hpp"
#include "sim/packet/packet_specs.hpp"

namespace fabricast {

class PacketNetwork {
 public:
  explicit PacketNetwork(PacketConfig config);

  /// @{ Building, before anything runs. Ids of vertices, links and queue pairs count up from 0.
  /// `seed`: of a switch's ECMP hash. Give each tier its own.
  std::uint32_t add_switch(std::uint64_t seed = 0);
  /// A NIC. `receive`: from its port to memory.
  std::uint32_t add_host(Duration receive = {});
  std::uint32_t add_link(const PacketLinkSpec& spec);
  /// Both directions; returns the first, the second is one more.
  std::uint32_t add_cable(const PacketLinkSpec& spec, Duration latency_back);
  /// Also later, unless flows have queues of their own.
  std::uint32_t add_queue_pair(const QueuePairSpec& spec);
  /// Shares of packets a link loses by corruption.
  void set_loss(std::uint32_t link, double probability);
  /// @}

  /// At any time with start >= now(), and not before the queue pair's message before, which it
  /// follows. Ids count up.
  std::uint32_t send(std::uint32_t queue_pair, Instant start, Bytes size);
  /// A link that is down loses what is sent over it.
  void set_link_up(std::uint32_t link, Instant at, bool up);

  using OnArrival = std::function<void(std::uint32_t message)>;
  void run_until(Instant until, const OnArrival& on_arrival = {});
  /// One event, if there is one up to and including `until`.
  bool step(Instant until, const OnArrival& on_arrival = {});
  /// What its rate control allows from now on, B/s, as if the flow had run for a while.
  void set_rate(std::uint32_t queue_pair, double bytes_per_s);
  /// Until nothing more happens.
  void run(const OnArrival& on_arrival = {});

  Instant now() const { return now_; }
  const PacketLinkSpec& link(std::uint32_t id) const { return links_[id].spec; }
  bool arrived(std::uint32_t message) const { return messages_[message].arrived; }
  /// When its last byte was in memory. REQUIRES: arrived(message).
  Instant arrival(std::uint32_t message) const { return messages_[message].at; }
  bool failed(std::uint32_t queue_pair) const { return pairs_[queue_pair].failed; }
  Instant failed_at(std::uint32_t queue_pair) const { return pairs_[queue_pair].deadline; }
  Bytes delivered(std::uint32_t queue_pair) const { return pairs_[queue_pair].delivered; }
  double rate(std::uint32_t queue_pair) const;  ///< B/s that its rate control allows
  const Dcqcn* rate_control(std::uint32_t queue_pair) const;

  struct LinkCounts {
    std::uint64_t packets = 0, lost = 0, dropped = 0, marked = 0, pauses = 0;
    Bytes carried;  ///< wire bytes
    Bytes queue_max;
    Bytes ingress_max;        ///< held by the receiving switch of what came over this link
    Instant first_pause{-1};  ///< when the receiver asked for it; -1 = never
  };
  const LinkCounts& counts(std::uint32_t link) const { return links_[link].counts; }
  Bytes queue(std::uint32_t link) const { return links_[link].queued; }
  /// Mean length of the egress queue since the start or the last reset.
  double mean_queue(std::uint32_t link) const;
  void reset_mean_queue();
  std::uint64_t events() const { return events_; }
  std::uint64_t digest() const { return digest_; }         ///< hash over every event, in order
  std::uint64_t packets() const { return packets_sent_; }  ///< put on a link, all links together

 private:
  __extension__ using Wide = __int128;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Packet {
    std::uint32_t pair = 0, number = 0;
    std::uint32_t wire = 0, payload = 0;
    std::uint32_t next = kNone;  ///< behind it in its queue
    std::uint32_t link = kNone;  ///< it is on, or came over
    std::uint32_t lane = 0, hop = 0;
    Duration behind;  ///< unloaded time since it left: what an answer takes back
    bool marked = false;
  };
  /// Packets of one lane that came over one link, or a sender's queue pair.
  struct Queue {
    std::uint32_t head = kNone, tail = kNone;
    bool listed = false;  ///< in Lane::turns
  };
  struct Lane {
    std::vector<Queue> queues;        ///< by ingress number at the switch
    std::deque<std::uint32_t> turns;  ///< queues, or queue pairs of a host, that may have a packet
    std::int64_t served = 0;          ///< wire bytes by weight, for the next lane's turn
    Bytes queued;
    std::int64_t credits = 0;  ///< of the receiver of the link
    bool paused = false;
    bool listed = false;  ///< in Link::busy
    // Of the receiver:
    Bytes held;
    bool pausing = false;
  };
  struct Link {
    PacketLinkSpec spec;
    std::vector<Lane> lanes;
    std::vector<std::uint32_t> busy;  ///< lanes with something to send
    std::int64_t served = 0;
    std::uint32_t ingress = 0;  ///< its number among the links into its receiver
    Bytes queued;
    std::uint32_t sending = 0;  ///< wire bytes under way
    Instant free;
    Instant wake{-1};  ///< an event is due then, for pacing
    double loss = 0;
    bool up = true;
    Wide queue_time = 0;  ///< integral of the queue, B x ps
    Instant queue_since;
    LinkCounts counts;
  };
  struct Vertex {
    bool host = false;
    std::uint32_t number = 0;  ///< among hosts
    std::uint64_t seed = 0;
    Duration receive;
    std::vector<std::uint32_t> in, out;
    Bytes shared;  ///< of its buffer, in use
    /// By host number: links of shortest ways. Only if a queue pair has no links of its own.
    std::vector<std::vector<std::uint32_t>> ways;
  };
  struct Message {
    std::uint32_t pair = 0;
    std::uint64_t first = 0, packets = 0;  ///< numbers of its packets
    Bytes size;
    Instant at;
    bool arrived = false;
    std::uint64_t end() const { return first + packets; }
  };
  struct Pair {
    QueuePairSpec spec;
    std::vector<std::uint32_t> links;
    std::uint32_t egress = kNone;
    std::uint32_t lane = 0;
    std::vector<std::uint32_t> messages;
    std::size_t sending = 0, receiving = 0;  ///< index in messages
    std::uint64_t next = 0, end = 0;         ///< packet to send; packets of all messages so far
    std::uint64_t acked = 0;
    Instant not_before;  ///< pacing
    std::optional<Dcqcn> control;
    Instant increase_due;
    bool increase_armed = false;
    bool listed = false;
    // Retries:
    Instant deadline;
    int tries = 0;  ///< without progress
    bool timer = false, failed = false;
    // Receiver:
    std::uint64_t expected = 0;
    std::set<std::uint64_t> ahead;  ///< arrived before those in front of them
    std::uint64_t newest = 0;       ///< the last to arrive, in order or not
    bool refused = false;           ///< has asked for `expected` again
    Instant notified{-(std::int64_t{1} << 62)};
    Bytes delivered;
  };

  enum class Kind : std::uint8_t {
    arrive,
    enqueue,
    free,
    wake,
    credit,
    pause,
    resume,
    start,
    acknowledge,
    resend,
    notify,
    reduce,
    increase,
    timeout,
    link_down,
    link_up,
    deliver
  };
  struct Event {
    Kind kind{};
    std::uint32_t a = 0, b = 0;
    std::int64_t value = 0;
  };

  void schedule(Instant at, Kind kind, std::uint32_t a, std::uint32_t b = 0,
                std::int64_t value = 0) {
    events_heap_.push(at, {kind, a, b, value});
  }
  void dispatch(const Event& event, const OnArrival& on_arrival);
  void find_ways();
  void seal();
  void settle(Pair& pair);

  // packet_switching.cpp
  void arrive(std::uint32_t packet);
  std::uint32_t choose(const Packet& packet, const Vertex& vertex);
  std::uint32_t least_loaded(const std::vector<std::uint32_t>& ways);
  const std::vector<std::uint32_t>& live(const std::vector<std::uint32_t>& ways);
  void enqueue(std::uint32_t packet, std::uint32_t link);
  void set_queued(Link& link, std::int64_t change);
  bool should_mark(const Lane& lane);
  void try_send(std::uint32_t link);
  std::optional<std::size_t> next_turn(Link& link, Lane& lane);
  std::uint32_t take_turn(std::uint32_t link, std::uint32_t lane, std::size_t turn);
  void transmit(std::uint32_t link, std::uint32_t packet);
  void list(Link& link, std::uint32_t lane, std::uint32_t turn);
  void sent(const Event& event);
  bool admit(Link& link, const Packet& packet);
  void release(std::uint32_t link, std::uint32_t lane, std::uint32_t wire);
  Bytes shared_part(const Lane& lane) const;
  Bytes pause_limit(const Vertex& vertex) const;
  std::uint32_t take_packet();

  // packet_transport.cpp
  void start(std::uint32_t message);
  bool exhausted(const Pair& pair) const { return pair.failed || pair.next == pair.end; }
  bool may_send(const Pair& pair) const;
  std::uint32_t make_packet(std::uint32_t pair, std::uint32_t link);
  void offer(std::uint32_t pair);
  void receive(std::uint32_t packet);
  bool accept(Pair& pair, const Packet& packet);
  void complete(Pair& pair);
  void acknowledge(std::uint32_t pair, std::uint64_t upto);
  void rewind(std::uint32_t pair, std::uint64_t to);
  bool give_up(Pair& pair);
  void refused(std::uint32_t pair, std::uint64_t to);
  void arm_timeout(std::uint32_t pair);
  void time_out(std::uint32_t pair);
  void notified(std::uint32_t pair);
  void after_cut(std::uint32_t pair);
  void increase(std::uint32_t pair);
  void catch_up(std::uint32_t pair);
  Bytes next_payload(const Pair& pair) const;

  PacketConfig config_;
  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> hosts_;
  std::vector<Link> links_;
  std::vector<Pair> pairs_;
  std::vector<Message> messages_;
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_packets_;
  EventHeap<Event> events_heap_;
  Random losses_, marks_, lots_;
  Instant now_, queue_reset_;
  bool sealed_ = false, has_ways_ = false;
  int links_down_ = 0;
  std::vector<std::uint32_t> live_;
  std::uint64_t events_ = 0, packets_sent_ = 0, digest_ = 0;
};

}  // namespace fabricast
