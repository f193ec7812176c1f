#include "sim/machines/exchange.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "sim/base/digest.hpp"
#include "sim/base/error.hpp"
#include "sim/machines/exchange_prefetch.hpp"

namespace fabricast {
namespace {

Duration copy_time(std::int64_t bytes, Bandwidth rate) {
  return rate.bytes_per_s > 0 ? transfer_time({bytes}, rate) : Duration{};
}

}  // namespace

template <class Stamp>
Exchange<Stamp>::Exchange(const ExchangeSchedule& schedule, std::uint32_t blocks,
                          std::uint32_t threads, RadixHeap& clock, Transit<Stamp>& transit)
    : schedule_(schedule),
      queue_(clock),
      transit_(transit),
      block_lanes_(blocks),
      loops_(threads),
      sends_(blocks),
      receives_(blocks),
      flights_(blocks),
      first_part_(blocks + threads) {
  blocks_.reserve(blocks);
  while (blocks_.size() < blocks) blocks_.emplace_back(small_.memory());
  threads_.reserve(threads);
  while (threads_.size() < threads) threads_.emplace_back(small_.memory());
}

template <class Stamp>
std::uint32_t Exchange<Stamp>::add_kind(const MessageKind& kind) {
  kinds_.push_back(kind);
  post_costs_.emplace_back();
  return static_cast<std::uint32_t>(kinds_.size() - 1);
}

/// Few kinds run together, and the last one is asked for most.
template <class Stamp>
std::uint32_t Exchange<Stamp>::end_kind(const ExchangeLane& lane) {
  const Duration overhead = kinds_[lane.kind].overhead + lane.extra;
  const auto known = std::find_if(end_kinds_.rbegin(), end_kinds_.rend(), [&](const EndKind& kind) {
    return kind.rate == lane.rate && kind.overhead == overhead;
  });
  if (known != end_kinds_.rend()) return static_cast<std::uint32_t>(end_kinds_.rend() - known - 1);
  if (end_kinds_.size() > UINT16_MAX)
    throw Error("more than 65,536 kinds of senders and receivers in one run",
                "ask for fewer communicators at once, or fewer that differ");
  end_kinds_.push_back({lane.rate, overhead, {}});
  return static_cast<std::uint32_t>(end_kinds_.size() - 1);
}

template <class Stamp>
Duration Exchange<Stamp>::copying(std::uint32_t end, std::int64_t bytes) {
  EndKind& kind = end_kinds_[end];
  Cost& cost = kind.copying.entry(bytes);
  if (cost.bytes != bytes) cost = {bytes, copy_time(bytes, kind.rate), {}, {}};
  return cost.busy;
}

/// What sending a chunk costs a thread, and its bytes on the wire.
template <class Stamp>
const Cost& Exchange<Stamp>::post_cost(std::uint8_t number, std::int64_t bytes) {
  Cost& cost = post_costs_[number].entry(bytes);
  if (cost.bytes == bytes) return cost;
  const MessageKind& kind = kinds_[number];
  const Bytes wire = kind.wire.on_wire({bytes});
  cost = {bytes, kind.cost.busy(wire), kind.cost.delay(wire), wire};
  return cost;
}

/// A stamp of something that happens in the running event.
template <class Stamp>
Stamp Exchange<Stamp>::now(Stamp at) const {
  const std::int64_t behind = queue_.now().ps - at.ps;
  return behind > 0 ? at.plus({behind}, Cause::latency) : at;
}

template <class Stamp>
std::int64_t Exchange<Stamp>::payload(const Message& message, std::uint32_t chunk) const {
  if (message.chunk > 0) return chunk + 1 < message.chunks ? message.chunk : message.last;
  const Remains& rest = remains_[id_of(message)];
  return std::min(rest.chunk, rest.bytes - rest.chunk * chunk);
}

/// A slot holds one stamp: while full, since when; while free, since when.
template <class Stamp>
Stamp& Exchange<Stamp>::slot(Message& message, std::uint32_t number) {
  if (number < kCloseSlots) return message.slots[number];
  return more_slots_[id_of(message)][number - kCloseSlots];
}

/// Of the sender's side. A direct message has no other.
template <class Stamp>
Stamp& Exchange<Stamp>::near(Message& message, std::uint32_t chunk) {
  return slot(message, message.first_near + chunk % message.near_slots);
}

template <class Stamp>
Stamp& Exchange<Stamp>::far(Message& message, std::uint32_t chunk) {
  return slot(message, message.first_far + chunk % message.far_slots);
}

template <class Stamp>
void Exchange<Stamp>::next_batch(std::uint32_t number, Stamp at) {
  Block& block = blocks_[number];
  block.end = at;
  stop_watching(number);
  const bool is_first = block.cursor == 0;
  if (!schedule_.next(number, block.cursor, batch_)) {
    if (done_) done_(number, at);
    return;
  }
  assert(batch_.sends.size() <= kLanesMax && batch_.receives.size() <= kLanesMax);
  block.open = static_cast<std::uint16_t>(batch_.sends.size() + batch_.receives.size() +
                                          batch_.copies.size());
  assert(block.open > 0);
  find_awaited(number);
  const std::uint32_t* known = known_.data();
  std::uint32_t lane_number = 0;
  for (const ExchangeBatch::Copy& copy : batch_.copies) {
    const Stamp end = at.plus(copy_time(copy.bytes.count, copy.rate), Cause::worker);
    if (is_watched()) observer_->copies(number, lane_number++, {at.ps}, {end.ps}, copy.bytes);
    lane_done(number, end);
  }
  const bool waits = batch_.pooled && block.unacked > 0;
  lane_number = 0;
  for (const ExchangeLane& lane : batch_.sends) {
    const std::uint32_t id = open(number, lane.peer, lane, true, *known++);
    if (is_watched()) observer_->opens(id, number, lane.peer, true, lane_number++, {at.ps});
    messages_[id].sender_free = at;
    if (messages_[id].relayed && waits) {
      block_lanes_[number].gated[block.gated++] = id;
    } else {
      start_send(number, id, at);
    }
  }
  lane_number = 0;
  for (const ExchangeLane& lane : batch_.receives) {
    const bool is_own = lane.peer == number;  // of this batch, perhaps
    const std::uint32_t own = is_own ? take_awaited(number, {number, number, lane.tag}) : kNone;
    const std::uint32_t id = open(lane.peer, number, lane, false, is_own ? own : *known);
    ++known;
    if (is_watched()) observer_->opens(id, number, lane.peer, false, lane_number++, {at.ps});
    messages_[id].ahead = is_first && kinds_[lane.kind].told_ahead;
    start_receive(id, lane, at);
  }
}

template <class Stamp>
void Exchange<Stamp>::start_send(std::uint32_t block, std::uint32_t id, Stamp at) {
  Message& message = messages_[id];
  message.sends = true;
  message.sender_free = at;
  if (message.relayed) ++blocks_[block].unacked;
  arm_sender(id);
}

template <class Stamp>
void Exchange<Stamp>::start_receive(std::uint32_t id, const ExchangeLane& lane, Stamp at) {
  Message& message = messages_[id];
  message.receives = true;
  message.receiver_free = at;
  message.receive_end = static_cast<std::uint16_t>(end_kind(lane));
  message.joint = static_cast<std::uint8_t>(lane.joint);
  if (message.relayed) {
    watch(message);
    for (std::uint32_t i = 0; i < message.far_slots; ++i) slot(message, message.first_far + i) = at;
    arm_poster(id);
  } else {
    receive(id);
  }
}

/// Of `count` slots from `first` on those that are not close.
template <class Stamp>
void Exchange<Stamp>::clear_slots(std::uint32_t id, std::uint32_t first, std::uint32_t count) {
  if (first + count <= kCloseSlots) return;
  if (more_slots_.size() < messages_.size()) more_slots_.resize(messages_.size());
  for (std::uint32_t slot = std::max(first, kCloseSlots); slot < first + count; ++slot)
    more_slots_[id][slot - kCloseSlots] = Stamp{};
}

/// The message between two blocks: whoever comes first makes it, and leaves it to the other, for
/// whom it is `known`.
template <class Stamp>
std::uint32_t Exchange<Stamp>::open(std::uint32_t from, std::uint32_t to, const ExchangeLane& lane,
                                    bool sending, std::uint32_t known) {
  const bool is_new = known == kNone;
  const std::uint32_t id = is_new ? new_message() : known;
  Message& message = messages_[id];
  assert(lane.slots >= 1 && lane.slots <= kSlotsMax);
  clear_slots(id, message.near_slots + message.far_slots, lane.slots);
  if (sending) {
    message.send_end = static_cast<std::uint16_t>(end_kind(lane));
    message.near_slots = static_cast<std::uint8_t>(lane.slots);
    message.first_near = message.far_slots & 0xf;  // whoever comes first has the first ones
    message.sending = sends_.take(from);
    sends_[message.sending] = id;
  } else {
    message.far_slots = static_cast<std::uint8_t>(lane.slots);
    message.first_far = message.near_slots & 0xf;
    message.receiving = receives_.take(to);
    receives_[message.receiving] = id;
  }
  if (!is_new) {
    assert(remains_[id].bytes == lane.bytes.count && remains_[id].chunk == lane.chunk.count);
    return id;
  }
  message.open = true;
  message.from = from;
  message.kind = static_cast<std::uint8_t>(lane.kind);
  message.chunks = lane.chunks();
  const std::int64_t chunk = std::min(lane.chunk.count, lane.bytes.count);
  message.chunk = chunk <= UINT32_MAX ? static_cast<std::uint32_t>(chunk) : 0;
  message.last = static_cast<std::uint32_t>(lane.bytes.count - chunk * (message.chunks - 1));
  Remains& rest = remains_[id];
  rest.to = to;
  rest.tag = lane.tag;
  rest.bytes = lane.bytes.count;
  rest.chunk = lane.chunk.count;
  blocks_[sending ? to : from].awaited.push_back({{from, to, lane.tag}, id});
  if (sending) {
    schedule_.way(from, lane, way_);
  } else {
    ExchangeLane sender = lane;
    sender.peer = to;
    schedule_.way(from, sender, way_);
  }
  lay_way(id);
  return id;
}

/// Which messages of the batch the peers have opened already, in the order of its lanes. All are
/// asked for before the first is looked at.
template <class Stamp>
void Exchange<Stamp>::find_awaited(std::uint32_t block) {
  std::uint32_t* known = known_.data();
  const auto note = [&](const Ends& ends) {
    *known = take_awaited(block, ends);
    if (*known != kNone) prefetch_message(*known);
    ++known;
  };
  for (const ExchangeLane& lane : batch_.sends) note({block, lane.peer, lane.tag});
  for (const ExchangeLane& lane : batch_.receives) {
    if (lane.peer != block) {
      note({lane.peer, block, lane.tag});
    } else {
      *known++ = kNone;
    }
  }
}

/// The message that the peer has opened already, or kNone.
template <class Stamp>
std::uint32_t Exchange<Stamp>::take_awaited(std::uint32_t block, const Ends& ends) {
  std::pmr::vector<Awaited>& awaited = blocks_[block].awaited;
  const auto found = std::find_if(awaited.begin(), awaited.end(),
                                  [&](const Awaited& other) { return other.ends == ends; });
  if (found == awaited.end()) return kNone;
  const std::uint32_t id = found->message;
  *found = awaited.back();
  awaited.pop_back();
  return id;
}

template <class Stamp>
std::uint32_t Exchange<Stamp>::new_message() {
  if (free_messages_.empty()) {
    messages_.emplace_back();
    remains_.emplace_back();
    if (!more_slots_.empty()) more_slots_.emplace_back();
    hops_.resize(hops_.size() + hops_max_);
    if (transit_.is_lossy()) passed_.resize(hops_.size());
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t id = free_messages_.back();
  free_messages_.pop_back();
  if (free_messages_.size() >= kFreeAhead) prefetch_free(*(free_messages_.end() - kFreeAhead));
  messages_[id] = Message{};
  remains_[id] = Remains{};
  if (transit_.is_lossy())
    std::fill_n(passed_.begin() + std::ptrdiff_t{id} * hops_max_, hops_max_, Stamp{});
  return id;
}

template <class Stamp>
void Exchange<Stamp>::lane_done(std::uint32_t number, Stamp at) {
  Block& block = blocks_[number];
  block.end = later(block.end, at);
  if (--block.open == 0)
    queue_.push({std::max(block.end.ps, queue_.now().ps)}, first_actor_ + number);
}

/// A relayed send has left the send buffers; the last one opens them to the next batch.
template <class Stamp>
void Exchange<Stamp>::acknowledged(std::uint32_t number, Stamp at) {
  Block& block = blocks_[number];
  block.pool = later(block.pool, at);
  if (--block.unacked > 0) return;
  const std::uint32_t gated = block.gated;
  block.gated = 0;
  const auto& waiting = block_lanes_[number].gated;
  for (std::uint32_t i = 0; i < gated; ++i) prefetch_message(waiting[i]);
  for (std::uint32_t i = 0; i < gated; ++i) {
    const std::uint32_t id = waiting[i];
    start_send(number, id, later(messages_[id].sender_free, block.pool));
  }
}

template <class Stamp>
void Exchange<Stamp>::schedule(std::uint32_t number, Part part, Stamp at) {
  queue_.push({std::max(at.ps, queue_.now().ps)},
              first_actor_ + first_part_ + number * kParts + static_cast<std::uint32_t>(part));
}

/// The sender acts when its bytes begin to move.
template <class Stamp>
void Exchange<Stamp>::arm_sender(std::uint32_t id) {
  Message& m = messages_[id];
  if (m.sender_armed || !m.sends || m.sent == m.chunks || m.sent - m.released == m.near_slots)
    return;
  m.sender_armed = true;
  const Stamp start = later(m.sender_free, near(m, m.sent));
  const Duration overhead = end_kinds_[m.send_end].overhead;
  schedule(m.sending, Part::sender, now(start).plus(overhead, Cause::latency));
}

template <class Stamp>
void Exchange<Stamp>::act_sender(std::uint32_t id) {
  Message& m = messages_[id];
  m.sender_armed = false;
  const std::int64_t bytes = payload(m, m.sent);
  const Stamp start = later(m.sender_free, near(m, m.sent));
  const Duration overhead = end_kinds_[m.send_end].overhead;
  const Stamp begin = now(start.plus(overhead, Cause::latency));
  const Stamp end = begin.plus(copying(m.send_end, bytes), Cause::worker);
  m.sender_free = end;
  if (transit_.is_lossy()) transit_.failing.losses().count({end.ps});
  if (is_watched()) {
    observer_->handles(id, true, {begin.ps - overhead.ps}, {end.ps}, {bytes});
    if (!m.relayed) observer_->departs(id, Instant{end.ps} + way_kinds_[m.way].near_latency);
  }
  const bool is_last = ++m.sent == m.chunks;
  if (is_last) lane_done(m.from, end);
  Flight flight = flight_of(id, post_cost(m.kind, bytes).wire, false);
  flight.first = begin;
  flight.last = end;
  travel(m.from, flight);
  if (!is_last) arm_sender(id);  // else the message may be gone
}

/// A chunk lies in the sender's slot: its thread may take it once the receiver has posted one.
template <class Stamp>
void Exchange<Stamp>::arrive_near(std::uint32_t id, Stamp at) {
  Message& m = messages_[id];
  // The flag follows the data: where both go to host memory it adds nothing.
  const WayKind& way = way_kinds_[m.way];
  const Duration flag = std::max(Duration{}, way.sender_flag - way.near_latency);
  near(m, m.queued + m.filled++) = at.plus(flag, Cause::latency);
  arm_relay(id);
}

/// A chunk has come to the receiver's slot.
template <class Stamp>
void Exchange<Stamp>::arrive(std::uint32_t id, Stamp at) {
  Message& m = messages_[id];
  if (is_watched()) observer_->arrives(id, {at.ps});
  const WayKind& way = way_kinds_[m.way];
  const Stamp seen = at.plus(kinds_[m.kind].sync + way.flush, Cause::latency);
  if (m.relayed) {
    const bool is_unasked = kinds_[m.kind].unasked;
    if (is_unasked) {
      far(m, m.arrived + m.landed++) = seen;
      enqueue(m.receive_thread, 2 * id);
    } else {
      far(m, m.arrived++) = seen.plus(half_loop(m.receive_thread), Cause::latency);
    }
    const Duration back = way.far_latency + half_loop(m.send_thread) + way.sender_flag;
    const Stamp freed = at.plus(back, Cause::slots);
    near(m, m.released++) = freed;
    if (m.released == m.chunks) acknowledged(m.from, freed);
    arm_sender(id);
    if (is_unasked) return;
  } else {
    near(m, m.arrived++) = seen;
  }
  receive(id);
}

/// The receiving lane takes what has arrived. It shares nothing with others, so it need not wait
/// for the time to come. The last chunk ends the message.
template <class Stamp>
void Exchange<Stamp>::receive(std::uint32_t id) {
  Message& m = messages_[id];
  if (!m.receives || m.received == m.arrived) return;
  const Duration overhead = end_kinds_[m.receive_end].overhead;
  const WayKind& way = way_kinds_[m.way];
  const Duration credit = m.relayed ? way.receiver_flag : way.near_latency + kinds_[m.kind].sync;
  while (m.received < m.arrived) {
    Stamp& taken = m.relayed ? far(m, m.received) : near(m, m.received);
    const Stamp start = later(m.receiver_free, taken).plus(overhead, Cause::latency);
    const Duration busy = copying(m.receive_end, payload(m, m.received));
    m.receiver_free = start.plus(busy, Cause::worker);
    if (transit_.is_lossy()) transit_.failing.losses().count({m.receiver_free.ps});
    if (is_watched()) {
      observer_->handles(id, false, {start.ps - overhead.ps}, {m.receiver_free.ps},
                         {payload(m, m.received)});
    }
    taken = m.receiver_free.plus(credit, Cause::slots);
    ++m.received;
    ++chunks_;
  }
  if (m.received == m.chunks) {
    lane_done(receiver_of(m), m.receiver_free);
    m.open = false;
    sends_.give_back(m.sending);
    receives_.give_back(m.receiving);
    free_messages_.push_back(id);
    ++messages_done_;
  } else if (m.relayed) {
    arm_poster(id);
  } else {
    m.released = m.received;
    arm_sender(id);
  }
}

template <class Stamp>
void Exchange<Stamp>::act(std::uint32_t actor) {
  ++events_;
  dispatch(actor - first_actor_);
}

template <class Stamp>
void Exchange<Stamp>::dispatch(std::uint32_t actor) {
  if (actor < blocks_.size()) return next_batch(actor, blocks_[actor].end);
  if (actor < first_part_) return act_thread(actor - static_cast<std::uint32_t>(blocks_.size()));
  const std::uint32_t number = (actor - first_part_) / kParts;
  switch (static_cast<Part>((actor - first_part_) % kParts)) {
    case Part::sender:
      return act_sender(sends_[number]);
    case Part::relay:
      return act_relay(sends_[number]);
    case Part::poster:
      return act_poster(receives_[number]);
    case Part::flight:
      return act_flight(number);
  }
}

template <class Stamp>
void Exchange<Stamp>::run_alone(std::uint64_t& digest,
                                const std::function<void(double)>& progress) {
  constexpr std::uint64_t events_per_report = 1 << 20;
  assert(first_actor_ == 0);
  const auto on_arrival = [this](std::uint32_t way, Instant at) { arrived(way, at); };
  for (;;) {
    if constexpr (Stamp::kCausal) transit_.wait_for_carrier(queue_, on_arrival);
    if (queue_.empty()) break;
    const auto soon = [this](std::uint32_t actor, auto depth) __attribute__((always_inline)) {
      prefetch(actor, depth);
    };
    const Event event = queue_.pop(soon);
    mix_digest(digest, (static_cast<std::uint64_t>(event.at.ps) << 20) ^ event.actor);
    act(event.actor);
    if (events_ % events_per_report == 0 && progress)
      progress(static_cast<double>(chunks_) / static_cast<double>(chunks_in_all_));
  }
}

template <class Stamp>
std::string Exchange<Stamp>::stuck() const {
  const auto found = std::find_if(messages_.begin(), messages_.end(),
                                  [](const Message& message) { return message.open; });
  if (found == messages_.end()) return "";
  return "the message of block " + std::to_string(found->from) + " to block " +
         std::to_string(remains_[id_of(*found)].to) + " does not come to an end";
}

template <class Stamp>
std::vector<bool> Exchange<Stamp>::uses() {
  survey(std::vector<bool>(transit_.links.size(), true));  // one round: nothing is left to find
  return used_;
}

template <class Stamp>
void Exchange<Stamp>::begin(std::uint32_t first_actor, const std::vector<bool>& shared,
                            const std::function<void(std::uint32_t, Stamp)>& done) {
  first_actor_ = first_actor;
  done_ = done;
  survey(shared);
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    if (!blocks_[block].held) next_batch(block, Stamp{});
  }
}

template <class Stamp>
void Exchange<Stamp>::start(std::uint32_t block, Stamp at) {
  blocks_[block].end = at;
  queue_.push({std::max(at.ps, queue_.now().ps)}, first_actor_ + block);
}

template <class Stamp>
Stamp Exchange<Stamp>::makespan() const {
  Stamp latest;
  for (const Block& block : blocks_) latest = later(latest, block.end);
  return latest;
}

template <class Stamp>
std::size_t Exchange<Stamp>::memory_bytes() const {
  std::size_t bytes = blocks_.capacity() * sizeof(Block) + messages_.capacity() * sizeof(Message) +
                      remains_.capacity() * sizeof(Remains) +
                      hops_.capacity() * sizeof(std::uint32_t) + sends_.memory_bytes() +
                      receives_.memory_bytes() + flights_.memory_bytes() +
                      more_slots_.capacity() * sizeof(MoreSlots) +
                      aloft_.records.capacity() * sizeof(Flight) + transit_.links.memory_bytes();
  for (const Thread& thread : threads_) bytes += thread.jobs.size() * sizeof(std::uint32_t);
  return bytes;
}

template class Exchange<PlainStamp>;
template class Exchange<CausalStamp>;

}  // namespace fabricast
