// Relayed messages: their senders' and receivers' threads, what these post, and when.

#include <algorithm>

#include "sim/machines/exchange.hpp"

namespace fabricast {

template <class Stamp>
void Exchange<Stamp>::arm_relay(std::uint32_t id) {
  Message& m = messages_[id];
  if (m.relay_armed || m.filled == 0 || m.queued == m.allowed) return;
  m.relay_armed = true;
  schedule(m.sending, Part::relay, later(near(m, m.queued), far(m, m.queued)));
}

template <class Stamp>
void Exchange<Stamp>::act_relay(std::uint32_t id) {
  Message& m = messages_[id];
  m.relay_armed = false;
  ++m.queued;
  --m.filled;
  enqueue(m.send_thread, 2 * id + 1);
  arm_relay(id);
}

template <class Stamp>
void Exchange<Stamp>::arm_poster(std::uint32_t id) {
  Message& m = messages_[id];
  if (m.poster_armed || m.requested == m.chunks || m.requested - m.received == m.far_slots) return;
  m.poster_armed = true;
  schedule(m.receiving, Part::poster, far(m, m.requested));
}

template <class Stamp>
void Exchange<Stamp>::act_poster(std::uint32_t id) {
  Message& m = messages_[id];
  m.poster_armed = false;
  ++m.requested;
  if (kinds_[m.kind].unasked) {
    ++m.allowed;
    arm_relay(id);
  } else {
    enqueue(m.receive_thread, 2 * id);
  }
  arm_poster(id);
}

template <class Stamp>
void Exchange<Stamp>::enqueue(std::uint32_t number, std::uint32_t job) {
  Thread& thread = threads_[number];
  thread.jobs.push(job);
  if (!thread.busy) start_job(number);
}

template <class Stamp>
void Exchange<Stamp>::watch(const Message& message) {
  const Duration poll = kinds_[message.kind].poll;
  const Watch watch{message.send_thread, message.receive_thread, poll, {poll.ps / message.joint}};
  const std::uint32_t block = receiver_of(message);
  block_lanes_[block].watched[blocks_[block].watches++] = watch;
  loops_[watch.send_thread] += watch.send;
  loops_[watch.receive_thread] += watch.receive;
}

template <class Stamp>
void Exchange<Stamp>::stop_watching(std::uint32_t number) {
  Block& block = blocks_[number];
  for (; block.watches > 0; --block.watches) {
    const Watch& watch = block_lanes_[number].watched[block.watches - 1];
    Duration &sender = loops_[watch.send_thread], &receiver = loops_[watch.receive_thread];
    sender = sender - watch.send;
    receiver = receiver - watch.receive;
  }
}

/// All that the job asks of its message is asked here, and not again when it is done.
template <class Stamp>
void Exchange<Stamp>::start_job(std::uint32_t number) {
  Thread& thread = threads_[number];
  const std::uint32_t job = thread.jobs.front(), id = job / 2;
  Message& m = messages_[id];
  thread.departs = job % 2 != 0;
  thread.takes = !thread.departs && kinds_[m.kind].unasked;
  const std::uint32_t chunk = thread.departs ? m.posted : thread.takes ? m.arrived : m.allowed;
  const std::int64_t bytes = payload(m, chunk);
  Duration busy;
  Stamp ready = far(m, chunk);
  if (thread.departs) {
    ready = later(ready, near(m, chunk));
    const Cost& cost = post_cost(m.kind, bytes);
    busy = cost.busy;
    thread.delay = cost.delay;
    thread.from = m.from;
    thread.flight = flight_of(id, cost.wire, true);
    ++m.posted;
  } else {
    const MessageKind& kind = kinds_[m.kind];
    const Bytes wire = kind.wire.on_wire({bytes});
    busy = kind.receipt.busy(wire);
    if (way_kinds_[m.way].flush > Duration{}) busy += kind.cost.receiving(wire);
    busy.ps /= m.joint;
    if (thread.takes) ready = ready.plus(Duration{} - kind.receipt.ahead, Cause::latency);
  }
  thread.busy = true;
  ready = ready.plus(half_loop(number), Cause::latency);
  thread.free = now(later(ready, thread.free)).plus(busy, Cause::latency);
  if (is_watched()) {
    const Instant end{thread.free.ps}, start{end.ps - busy.ps};
    observer_->posts(id, number, thread.departs, start, end, {bytes});
  }
  queue_.push({thread.free.ps}, first_actor_ + static_cast<std::uint32_t>(blocks_.size()) + number);
  // Who hears of it later than now may be told now.
  const bool posts = !thread.departs && !thread.takes;
  thread.allows = posts && telling(m) == Duration{};
  if (posts && !thread.allows) allow(m, thread.free);
}

/// A far slot has been posted by `at`.
template <class Stamp>
void Exchange<Stamp>::allow(Message& m, Stamp at) {
  const Stamp told = at.plus(telling(m), Cause::latency);
  far(m, m.allowed++) = told;
  arm_relay(id_of(m));
}

template <class Stamp>
void Exchange<Stamp>::act_thread(std::uint32_t number) {
  Thread& thread = threads_[number];
  const std::uint32_t id = thread.jobs.pop() / 2;
  const Stamp at = thread.free;
  const bool departs = thread.departs, allows = thread.allows, takes = thread.takes;
  const std::uint32_t from = thread.from;
  Flight flight = thread.flight;
  flight.first = flight.last = at.plus(thread.delay, Cause::latency);
  if (takes) take(messages_[id], at);  // the next job may be of the same message
  thread.busy = false;
  if (!thread.jobs.empty()) start_job(number);
  if (departs) {
    if (is_watched())
      observer_->departs(id, Instant{flight.last.ps} + way_kinds_[flight.way].far_latency);
    travel(from, flight);
  } else if (allows) {
    allow(messages_[id], at);
  }
}

/// The receiving thread is done with what had come unasked.
template <class Stamp>
void Exchange<Stamp>::take(Message& m, Stamp at) {
  --m.landed;
  far(m, m.arrived++) = at;
  receive(id_of(m));
}

// All of them, as the class is instantiated where it does not see them.
template void Exchange<PlainStamp>::arm_relay(std::uint32_t);
template void Exchange<PlainStamp>::act_relay(std::uint32_t);
template void Exchange<PlainStamp>::arm_poster(std::uint32_t);
template void Exchange<PlainStamp>::act_poster(std::uint32_t);
template void Exchange<PlainStamp>::enqueue(std::uint32_t, std::uint32_t);
template void Exchange<PlainStamp>::watch(const Message&);
template void Exchange<PlainStamp>::stop_watching(std::uint32_t);
template void Exchange<PlainStamp>::start_job(std::uint32_t);
template void Exchange<PlainStamp>::allow(Message&, PlainStamp);
template void Exchange<PlainStamp>::act_thread(std::uint32_t);
template void Exchange<PlainStamp>::take(Message&, PlainStamp);
template void Exchange<CausalStamp>::arm_relay(std::uint32_t);
template void Exchange<CausalStamp>::act_relay(std::uint32_t);
template void Exchange<CausalStamp>::arm_poster(std::uint32_t);
template void Exchange<CausalStamp>::act_poster(std::uint32_t);
template void Exchange<CausalStamp>::enqueue(std::uint32_t, std::uint32_t);
template void Exchange<CausalStamp>::watch(const Message&);
template void Exchange<CausalStamp>::stop_watching(std::uint32_t);
template void Exchange<CausalStamp>::start_job(std::uint32_t);
template void Exchange<CausalStamp>::allow(Message&, CausalStamp);
template void Exchange<CausalStamp>::act_thread(std::uint32_t);
template void Exchange<CausalStamp>::take(Message&, CausalStamp);

}  // namespace fabricast
