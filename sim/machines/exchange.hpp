#pragma once
// Blocks that exchange messages with many others: the machine of sends and receives, all-to-all and
// the like. The executor's workers have fixed neighbours; here a block has a new one every round,
// so what stands between two of them lives only as long as their message.
//
// A block serves batches, one after another. The sends, receives and copies of a batch run side by
// side, each in a lane of its own, and the next batch begins when all lanes are done. A message
// goes in chunks over a few slots; per chunk a lane is busy for overhead + payload / rate, and the
// sender's bytes cross the links `near` after the overhead (link_servers.hpp). That is all of a
// direct message: its slots lie at the receiver.
//
// A relayed message has slots on both sides and a thread at each (a server in order of arrival that
// many messages share). The receiver's thread posts every free slot; the post crosses the network
// and allows the sender's thread to post the chunk, whose bytes then cross the links `far`. Relayed
// sends of a batch share the block's send buffers: they wait until all of the batch before have
// been acknowledged. A thread comes round to all relayed messages under way that are its own once a
// loop; what happens waits for half a loop on average: posts, a chunk's arrival, its
// acknowledgement. A message is under way while the receiving block's batch is. Receives posted
// together cost one post, one flush and one look. What is sent unasked takes a slot that is free,
// which costs no thread anything; the receiver's is busy with what has come.
//
// Links that bytes reach with different lead times, and those where messages of many senders meet
// (LinkSpec::gathers) unless they lead to a relay, are booked on arrival, by an event of their own;
// others ahead. Exact and deterministic, like the executor, whose guest it is. Links lose chunks
// only where an Outage says so: a chunk is sent again from there, and those behind it in its
// message follow it.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "sim/base/block_numbers.hpp"
#include "sim/base/fifo.hpp"
#include "sim/base/large_pages.hpp"
#include "sim/base/radix_heap.hpp"
#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"
#include "sim/links/carrier.hpp"
#include "sim/links/link_servers.hpp"
#include "sim/links/post_cost.hpp"
#include "sim/links/wire_format.hpp"
#include "sim/machines/exchange_observer.hpp"
#include "sim/machines/guest.hpp"
#include "sim/machines/transit.hpp"

namespace fabricast {

/// What messages of one kind have in common.
struct MessageKind {
  WireFormat wire;
  Duration overhead;   ///< of a lane per chunk, before its bytes move
  Duration sync;       ///< from the arrival of the last byte to the chunk seen
  PostCost cost;       ///< relayed: of the thread that sends, per chunk
  PostCost receipt{};  ///< relayed: of the thread that receives, per slot posted; with a flush
                       ///< what `cost` says of receiving, too
  Duration poll{};     ///< relayed: a thread looks so long at a message under way, once a loop
  /// Relayed: a chunk sets out without a post that the network brought, and costs the receiving
  /// thread its receipt once it is there, as through a socket.
  bool unasked = false;
  /// Relayed: senders know of the slots that a block's first batch posts as soon as they are
  /// posted.
  bool told_ahead = false;

  bool operator==(const MessageKind&) const = default;
};

/// One end of a message. Both ends agree on bytes, chunk, kind and tag.
struct ExchangeLane {
  std::uint32_t peer = 0;  ///< block
  Bytes bytes, chunk;
  std::uint32_t kind = 0;   ///< index of add_kind()
  std::uint32_t slots = 1;  ///< chunks in flight on this side; of a direct message the sender says
  Bandwidth rate;           ///< payload per second; 0 = takes no time
  Duration extra;           ///< of this end, besides the kind's overhead
  std::uint32_t tag = 0;    ///< tells messages apart that two blocks have at the same time
  std::uint32_t joint = 1;  ///< relayed receives: so many are posted together

  /// An empty message is one.
  std::uint32_t chunks() const {
    const std::int64_t all = (bytes.count + chunk.count - 1) / chunk.count;
    return all > 1 ? static_cast<std::uint32_t>(all) : 1;
  }
};

struct ExchangeBatch {
  struct Copy {  ///< from a block to itself
    Bytes bytes;
    Bandwidth rate;
  };
  std::vector<ExchangeLane> sends, receives;
  std::vector<Copy> copies;
  bool pooled = true;  ///< relayed sends wait for those of the batch before
};

/// Links in order, and what a relayed message needs besides.
struct ExchangeWay {                // marks allowed, see machine.hpp
  std::vector<std::uint32_t> near;  ///< from the sending lane to the slots
  bool relayed = false;
  std::vector<std::uint32_t> far;  ///< from there to the receiver's slots
  std::uint32_t send_thread = 0, receive_thread = 0;
  Duration sender_flag, receiver_flag;  ///< between a lane and its thread, one way
  Duration flush;  ///< from the arrival of the last byte, beside the kind's sync
};

/// Pure functions, so that memory does not grow with the number of messages. At any time at most
/// one message per pair of blocks, direction and tag is under way.
class ExchangeSchedule {
 public:
  virtual ~ExchangeSchedule() = default;
  /// The batch at `cursor` (starts at 0), and moves the cursor on; false when there is none left.
  virtual bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const = 0;
  virtual void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const = 0;
  using WayVisitor = std::function<void(const ExchangeWay&)>;
  /// Calls visit(way) for every way that messages of so many blocks take, once or more often, in
  /// any order: `near` and `far` count, each for itself, and either may be left out where it has
  /// been told before. Returns how many chunks they send. This asks for all batches; who knows
  /// better does less.
  virtual std::uint64_t each_way(std::uint32_t blocks, const WayVisitor& visit) const;
  /// Tells the connections of two blocks apart, if a block stands for several peers.
  virtual std::uint32_t connection(std::uint32_t /*from*/, std::uint32_t /*tag*/) const {
    return 0;
  }
};

/// The guest of an executor; its parties are blocks.
template <class Stamp>
class Exchange final : public Guest<Stamp> {
 public:
  /// On the clock and the links of an executor. All arguments outlive the exchange.
  Exchange(const ExchangeSchedule& schedule, std::uint32_t blocks, std::uint32_t threads,
           RadixHeap& clock, Transit<Stamp>& transit);
  std::uint32_t add_kind(const MessageKind& kind);
  /// Tells `observer`, who outlives the run, of everything. Not of a PlainStamp.
  void watch(ExchangeObserver& observer) requires(Stamp::kCausal) { observer_ = &observer; }

  std::vector<bool> uses() override;
  void hold(std::uint32_t block) override { blocks_[block].held = true; }
  void begin(std::uint32_t first_actor, const std::vector<bool>& shared,
             const std::function<void(std::uint32_t, Stamp)>& done) override;
  void start(std::uint32_t block, Stamp at) override;
  void act(std::uint32_t actor) override;
  /// Throws std::logic_error naming a message that has only one end.
  void run_alone(std::uint64_t& digest, const std::function<void(double)>& progress) override;
  void arrived(std::uint32_t way, Instant at) override;
  std::string stuck() const override;

  // Results.
  Stamp finished(std::uint32_t block) const { return blocks_[block].end; }
  Stamp makespan() const override;
  /// A link that is booked in the wake of a joint is one, as if it were booked on arrival.
  std::uint64_t events() const override { return events_; }
  std::uint64_t messages() const { return messages_done_; }  ///< delivered, copies left out
  std::uint64_t chunks() const { return chunks_; }           ///< received
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kSlotsMax = 8, kLanesMax = 8;
  static constexpr unsigned kWayBits = 22;
  static constexpr std::uint32_t kLinksAhead = 8;
  static constexpr std::uint32_t kCloseSlots = 4;  ///< relayed messages mostly have two and two
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kFreeAhead = 3;  ///< messages

  /// What a message adds to the loops of its two threads.
  struct Watch {
    std::uint32_t send_thread = 0, receive_thread = 0;
    Duration send, receive;
  };

  /// What tells messages apart.
  struct Ends {
    std::uint32_t from = 0, to = 0, tag = 0;
    bool operator==(const Ends&) const = default;
  };
  /// A message that only the other block has opened.
  struct Awaited {
    Ends ends;
    std::uint32_t message = 0;
  };

  /// What every message asks for: a cache line, if stamps are plain.
  struct alignas(64) Block {
    Stamp end;   ///< of the batch, so far
    Stamp pool;  ///< when the send buffers are free again
    std::uint32_t cursor = 0;
    std::uint16_t open = 0;     ///< lanes of the batch
    std::uint16_t unacked = 0;  ///< relayed sends that still occupy the send buffers
    std::uint8_t gated = 0;     ///< relayed sends that wait for them
    std::uint8_t watches = 0;   ///< receives of the batch that threads look at
    bool held = false;
    std::pmr::vector<Awaited> awaited;

    explicit Block(std::pmr::memory_resource* memory) : awaited(memory) {}
  };
  static_assert(Stamp::kCausal || sizeof(Block) == 64);
  /// And what a batch asks for.
  struct BlockLanes {
    std::array<std::uint32_t, kLanesMax> gated{};  ///< messages
    std::array<Watch, kLanesMax> watched{};
  };

  /// What many ends of messages have in common, each once: they stay in the nearest cache.
  struct EndKind {
    Bandwidth rate;     ///< of the lane
    Duration overhead;  ///< of the lane, per chunk
    CostTable copying;  ///< of chunks, by payload
  };
  /// And what many ways have in common.
  struct WayKind {
    Duration near_latency, far_latency, sender_flag, receiver_flag, flush;
    std::uint8_t near_hops = 0, hops = 0;
    bool plain = false;       ///< its steps are one link each, and no link carries pieces
    std::uint64_t joins = 0;  ///< of a plain one; bit i: the link at hop i is booked on arrival
    auto operator<=>(const WayKind&) const = default;
  };

  /// What every event on it asks for: two cache lines, if stamps are plain.
  struct alignas(64) Message {
    Stamp sender_free, receiver_free;
    // How many chunks have come so far. Relayed: all; direct: sent, arrived, received, released.
    std::uint32_t sent = 0, queued = 0, posted = 0, arrived = 0, received = 0;
    std::uint32_t released = 0;                ///< near slots
    std::uint32_t requested = 0, allowed = 0;  ///< far slots: queued at the thread, at the sender
    std::uint32_t chunks = 0;
    std::uint32_t chunk = 0;  ///< bytes, but of the last one of several; 0: too many to tell
    std::uint8_t near_slots = 0, far_slots = 0;
    std::uint8_t kind = 0;
    std::uint8_t joint = 1;
    std::uint8_t first_near : 4 = 0, first_far : 4 = 0;  ///< in its slots
    std::uint8_t filled = 0;  ///< near slots that wait for the thread: beyond `queued`
    std::uint8_t landed = 0;  ///< far ones, of what is unasked: beyond `arrived`
    bool relayed : 1 = false;
    bool sends : 1 = false, receives : 1 = false;  ///< the batch of that end has begun
    bool sender_armed : 1 = false, relay_armed : 1 = false, poster_armed : 1 = false;
    bool open : 1 = false;
    bool ahead : 1 = false;  ///< its receiver's first slots are known to the sender once posted
    std::array<Stamp, kCloseSlots> slots{};    ///< the first ones; others: Remains
    std::uint32_t sending = 0, receiving = 0;  ///< its number at the two ends that have opened it
    std::uint32_t send_thread = 0, receive_thread = 0;
    std::uint32_t from = 0;
    std::uint32_t way = 0;                        ///< kind
    std::uint32_t last = 0;                       ///< bytes of the last chunk
    std::uint16_t send_end = 0, receive_end = 0;  ///< kinds
  };
  static_assert(Stamp::kCausal || sizeof(Message) == 128);

  /// What few events on it ask for.
  struct Remains {
    std::int64_t bytes = 0, chunk = 0;
    std::uint32_t to = 0;
    std::uint32_t tag = 0;
    std::uint32_t carried = kNone;   ///< the carrier's way that its last chunk took
    std::uint32_t carried_from = 0;  ///< from this hop on
  };

  using MoreSlots = std::array<Stamp, 2 * kSlotsMax - kCloseSlots>;

  /// A chunk on its way: a cache line, if stamps are plain.
  struct alignas(64) Flight {
    Stamp first;  ///< when its first byte comes to the next link
    Stamp last;   ///< when its last byte can be there at the earliest
    Bytes wire;
    std::uint32_t message = 0;
    std::uint32_t way : kWayBits = 0;  ///< kind
    std::uint32_t hop : 8 = 0;
    std::uint32_t far : 1 = 0;
    std::uint32_t brings : 1 = 0;                    ///< the links that it has yet to cross
    std::array<std::uint32_t, kLinksAhead> ahead{};  ///< those, see bring()
  };
  static_assert(Stamp::kCausal || sizeof(Flight) == 64);

  /// Records of one kind, the place left last filled first.
  template <class Record>
  struct Pool {
    HugePageVector<Record> records;
    std::vector<std::uint32_t> free;

    std::uint32_t put(const Record& record) {
      if (free.empty()) {
        records.push_back(record);
        return static_cast<std::uint32_t>(records.size() - 1);
      }
      const std::uint32_t place = free.back();
      free.pop_back();
      records[place] = record;
      return place;
    }
    Record take(std::uint32_t place) {
      free.push_back(place);
      return records[place];
    }
  };

  struct Thread {
    Stamp free;
    /// 2 * message + (1: send, 0: post a slot); the first one is served.
    Fifo<std::uint32_t, std::pmr::vector<std::uint32_t>> jobs;
    bool busy = false;
    bool departs = false;    ///< what it serves is a send
    bool allows = false;     ///< a post that the sender hears of in the instant in which it ends
    bool takes = false;      ///< what has come unasked
    std::uint32_t from = 0;  ///< of a send: the block
    Duration delay;          ///< from its end until bytes set out
    Flight flight;           ///< those, but when

    explicit Thread(std::pmr::memory_resource* memory)
        : jobs(std::pmr::vector<std::uint32_t>(memory)) {}
  };

  /// Actors, from first_actor_ on: blocks, threads, then four for every number: two of what a block
  /// sends, one of what it receives, one of the flights of what it sends.
  enum class Part : std::uint32_t { sender, relay, poster, flight };
  static constexpr std::uint32_t kParts = 4;

  void survey(std::vector<bool> joins);
  bool is_watched() const { return Stamp::kCausal && observer_ != nullptr; }
  void next_batch(std::uint32_t block, Stamp at);
  std::uint32_t open(std::uint32_t from, std::uint32_t to, const ExchangeLane& lane, bool sending,
                     std::uint32_t known);
  std::uint32_t take_awaited(std::uint32_t block, const Ends& ends);
  inline void find_awaited(std::uint32_t block);
  std::uint32_t new_message();
  void lay_way(std::uint32_t id);
  inline Duration look_along(WayKind& way, const std::uint32_t* hops, std::uint32_t hop,
                             std::uint32_t end) const;
  // Inlined: GCC drops calls of a function that does nothing but prefetch.
  [[gnu::always_inline]] inline void prefetch(std::uint32_t actor, unsigned depth) const;
  [[gnu::always_inline]] inline void prefetch_job(const Thread& thread, unsigned depth) const;
  [[gnu::always_inline]] inline void prefetch_free(std::uint32_t id) const;
  [[gnu::always_inline]] inline void prefetch_message(std::uint32_t id) const;
  [[gnu::always_inline]] inline void prefetch_hops(std::uint32_t id) const;
  [[gnu::always_inline]] inline void prefetch_departure(std::uint32_t id) const;
  [[gnu::always_inline]] inline void prefetch_block(std::uint32_t block, unsigned depth) const;
  [[gnu::always_inline]] inline void prefetch_arrival(std::uint32_t id) const;
  [[gnu::always_inline]] inline void prefetch_links(const Flight& flight) const;
  [[gnu::always_inline]] inline void prefetch_flight(std::uint32_t place, unsigned depth) const;
  inline void clear_slots(std::uint32_t id, std::uint32_t first, std::uint32_t count);
  void start_send(std::uint32_t block, std::uint32_t id, Stamp at);
  void start_receive(std::uint32_t id, const ExchangeLane& lane, Stamp at);
  void lane_done(std::uint32_t block, Stamp at);
  void acknowledged(std::uint32_t block, Stamp at);
  void schedule(std::uint32_t number, Part part, Stamp at);
  void arm_sender(std::uint32_t id);
  void arm_relay(std::uint32_t id);
  void arm_poster(std::uint32_t id);
  /// The block, once it has opened the message: its number says so.
  std::uint32_t receiver_of(const Message& m) const {
    return m.receiving % static_cast<std::uint32_t>(blocks_.size());
  }
  void dispatch(std::uint32_t actor);
  void act_sender(std::uint32_t id);
  void act_relay(std::uint32_t id);
  void act_poster(std::uint32_t id);
  void act_flight(std::uint32_t number);
  void enqueue(std::uint32_t thread, std::uint32_t job);
  void watch(const Message& message);
  void stop_watching(std::uint32_t block);
  void start_job(std::uint32_t thread);
  void act_thread(std::uint32_t thread);
  Duration half_loop(std::uint32_t thread) const { return {loops_[thread].ps / 2}; }
  Flight flight_of(std::uint32_t id, Bytes wire, bool far) const;
  inline void bring(Flight& flight, const WayKind& way, const std::uint32_t* hops) const;
  void allow(Message& message, Stamp at);
  /// Until the sender hears of a slot that has been posted.
  Duration telling(const Message& m) const {
    const bool is_known = m.ahead && m.allowed < m.far_slots;
    return is_known ? Duration{} : way_kinds_[m.way].far_latency;
  }
  void travel(std::uint32_t block, Flight& flight);
  static std::uint32_t links_left(const Flight& flight, const WayKind& way) {
    return (flight.far ? way.hops : way.near_hops) - flight.hop;
  }
  [[gnu::always_inline]] inline bool travel_plainly(std::uint32_t block, Flight& flight,
                                                    const WayKind& way);
  inline bool travel_in_steps(std::uint32_t block, Flight& flight, const WayKind& way);
  inline void wait_on_way(std::uint32_t block, const Flight& flight, Stamp at);
  [[gnu::always_inline]] inline void pass(std::uint32_t id, std::uint32_t message,
                                          std::uint32_t hop, Stamp& first, Stamp& last, Bytes wire);
  inline bool hand_over(std::uint32_t block, Flight& flight, const std::uint32_t* hops,
                        std::uint32_t end);
  void arrive_near(std::uint32_t id, Stamp at);
  void arrive(std::uint32_t id, Stamp at);
  void take(Message& message, Stamp at);
  void receive(std::uint32_t id);
  std::uint32_t end_kind(const ExchangeLane& lane);
  inline std::uint32_t way_kind(const WayKind& way);
  Duration copying(std::uint32_t end, std::int64_t bytes);
  const Cost& post_cost(std::uint8_t kind, std::int64_t bytes);
  Stamp& slot(Message& message, std::uint32_t number);
  Stamp& near(Message& message, std::uint32_t chunk);
  Stamp& far(Message& message, std::uint32_t chunk);
  std::uint32_t id_of(const Message& message) const {
    return static_cast<std::uint32_t>(&message - messages_.data());
  }
  std::int64_t payload(const Message& message, std::uint32_t chunk) const;
  Stamp now(Stamp at) const;

  const ExchangeSchedule& schedule_;
  RadixHeap& queue_;
  Transit<Stamp>& transit_;
  std::vector<MessageKind> kinds_;
  std::vector<CostTable> post_costs_;  ///< by kind
  std::vector<EndKind> end_kinds_;
  std::vector<WayKind> way_kinds_;
  std::map<WayKind, std::uint32_t> way_kind_numbers_;
  SmallVectors small_;  ///< of blocks and threads
  HugePageVector<Block> blocks_;
  HugePageVector<BlockLanes> block_lanes_;
  HugePageVector<Thread> threads_;
  std::vector<Duration> loops_;  ///< of each thread over all that it watches
  HugePageVector<Message> messages_;
  HugePageVector<Remains> remains_;       ///< by message
  HugePageVector<MoreSlots> more_slots_;  ///< by message; none before one has as many
  std::vector<std::uint32_t> free_messages_;
  HugePageVector<std::uint32_t> hops_;  ///< hops_max_ for every message: near, then far
  std::uint32_t hops_max_ = 0;
  BlockNumbers<std::uint32_t> sends_, receives_;  ///< messages, by their number at an end
  BlockNumbers<std::uint32_t> flights_;           ///< of what a block sends: the place in aloft_
  Pool<Flight> aloft_;
  std::vector<bool> joins_;  ///< by link: booked on arrival
  std::vector<bool> used_;
  ExchangeBatch batch_;
  std::array<std::uint32_t, 2 * kLanesMax> known_{};  ///< of its lanes: see find_awaited()
  ExchangeWay way_;
  std::function<void(std::uint32_t, Stamp)> done_;
  std::vector<Stamp> passed_;  ///< like hops_, where links go down: when one was done with the
                               ///< chunk before
  ExchangeObserver* observer_ = nullptr;
  // Of chunks that are left to a carrier:
  Carriage<Flight> carriage_;
  /// By sending and receiving block, connection of these, and the first hop that is carried.
  std::map<std::array<std::uint32_t, 4>, std::uint32_t> carried_ways_;
  std::uint32_t first_actor_ = 0;  ///< of the executor's clock
  std::uint32_t first_part_ = 0;   ///< from there: of the first message's sender
  std::uint64_t events_ = 0, messages_done_ = 0, chunks_ = 0, chunks_in_all_ = 0;
};

extern template class Exchange<PlainStamp>;
extern template class Exchange<CausalStamp>;

}  // namespace fabricast
