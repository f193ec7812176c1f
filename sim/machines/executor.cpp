#include "sim/machines/executor.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <stdexcept>

#include "sim/base/digest.hpp"
#include "sim/machines/executor_access.hpp"

namespace fabricast {

/// Loads the next primitive. False when the program has ended.
template <class Stamp>
bool Executor<Stamp>::fetch(Worker& worker) {
  if (worker.same == 0) return fetch_other(worker);
  --worker.same;
  worker.left = worker.chunk;
  worker.slices_left = worker.slices;
  return true;
}

/// One that the program has to be asked for.
template <class Stamp>
bool Executor<Stamp>::fetch_other(Worker& worker) {
  Primitive primitive;
  Course& course = courses_[id_of(worker)];
  const Program& program = *programs_[course.program];
  if (is_watched()) observer_->takes_up(id_of(worker), course.cursor);
  const Cursor was = course.cursor;
  if (!program.next(course.role, course.cursor, primitive)) return false;
  assert(primitive.slices >= 1);
  if (worker.crossbar == kNobody) {  // else it takes all, always
    assert(std::bit_width(primitive.in) <= worker.ins &&
           std::bit_width(primitive.out) <= worker.outs);
    worker.in = primitive.in;
    worker.out = primitive.out;
  }
  assert(primitive.chunk.count <= UINT32_MAX && primitive.slices <= UINT16_MAX);
  worker.slices_left = static_cast<std::uint16_t>(primitive.slices);
  worker.left = static_cast<std::uint32_t>(primitive.chunk.count);
  worker.slice =
      static_cast<std::uint32_t>(std::min<std::int64_t>(primitive.slice.count, UINT32_MAX));
  worker.slices = worker.slices_left;
  worker.chunk = worker.left;
  if (is_watched()) return true;  // of each primitive
  if (course.ask_in > 0) {
    --course.ask_in;
  } else {
    worker.same = alike_ahead(worker, program.number(course.role, was));
  }
  return true;
}

/// How many primitives come behind that number which are equal to it; the cursor moves behind them.
/// Who has none is asked again later, up to 64 primitives apart.
template <class Stamp>
std::uint32_t Executor<Stamp>::alike_ahead(const Worker& worker, std::uint64_t number) {
  Course& course = courses_[id_of(worker)];
  const Program& program = *programs_[course.program];
  const std::uint64_t alike =
      std::min<std::uint64_t>(program.repeats(course.role, number, 1), UINT32_MAX);
  if (alike > 0) {
    course.cursor = program.cursor_at(course.role, number + 1 + alike);
    course.ask_again = 1;
  } else {
    course.ask_in = course.ask_again;
    course.ask_again = static_cast<std::uint8_t>(std::min(2 * course.ask_again, 64));
  }
  return static_cast<std::uint32_t>(alike);
}

/// The fixed cost of a primitive: that of its outputs; of its inputs when it only receives.
template <class Stamp>
template <bool kSingle>
Duration Executor<Stamp>::overhead(const Worker& worker) {
  Duration most = kSingle ? Duration{} : crossbar_overhead(worker);
  // The first of those that are alike says it for all of them.
  const auto widen = [&](const Connection& connection) {
    most = std::max(most, connection_kinds_[connection.kind].overhead);
    return !worker.alike;
  };
  if (worker.out != 0 || (!kSingle && worker.fills)) {
    all_outputs<kSingle>(worker, widen);
  } else {
    all_inputs<kSingle>(worker, widen);
  }
  return most;
}

/// When the next slice starts. REQUIRES: all that it needs is there.
template <class Stamp>
template <bool kSingle>
Stamp Executor<Stamp>::start_of(const Worker& worker) {
  const Stamp* at = &worker.free;
  all_inputs<kSingle>(worker, [&](Connection& input) {
    at = &later(*at, slot(input, input.next_drain));
    return true;
  });
  all_outputs<kSingle>(worker, [&](Connection& output) {
    at = &later(*at, slot(output, output.next_fill));
    return true;
  });
  return *at;
}

/// What the next slice waits for. Connections that a neighbour has yet to act on know who waits.
template <class Stamp>
template <bool kSingle>
auto Executor<Stamp>::look(const Worker& worker) -> Waits {
  Waits out{{worker.free.ps}, 0};
  const auto note = [&](bool& waits, bool is_missing, const Stamp& since)
      __attribute__((always_inline)) {
    waits = is_missing;
    if (is_missing) {
      ++out.missing;
    } else {
      out.at = later(out.at, Instant{since.ps});
    }
    return true;
  };
  all_inputs<kSingle>(worker, [&](Connection& input) {
    return note(input.receiver_waits, input.full == 0, slot(input, input.next_drain));
  });
  all_outputs<kSingle>(worker, [&](Connection& output) {
    return note(output.sender_waits, output.in_flight == output.slots,
                slot(output, output.next_fill));
  });
  if (!kSingle && worker.crossbar != kNobody) look_at_crossbar(worker, out);
  return out;
}

template <class Stamp>
template <bool kSingle>
void Executor<Stamp>::schedule_by(const Worker& worker) {
  const Waits waits = look<kSingle>(worker);
  if (waits.missing > 0) {
    Waits& rest = waits_[id_of(worker)];
    rest.at = waits.at;
    rest.missing = waits.missing;
  } else {
    queue_.push(later(waits.at, queue_.now()), id_of(worker));
  }
}

template <class Stamp>
void Executor<Stamp>::schedule(std::uint32_t id) {
  const Worker& worker = workers_[id];
  worker.single ? schedule_by<true>(worker) : schedule_by<false>(worker);
}

template <class Stamp>
void Executor<Stamp>::drain(Connection& connection, Stamp at) {
  slot(connection, connection.next_drain) = at;
  if (++connection.next_drain == connection.slots) connection.next_drain = 0;
  --connection.in_flight;
  --connection.full;
  came(connection.sender_waits, connection.from, at);
}

/// The next slot to fill is the sender's no more, but not yet full.
template <class Stamp>
std::uint32_t Executor<Stamp>::take_slot(Connection& connection) {
  const std::uint32_t slot = connection.next_fill;
  if (++connection.next_fill == connection.slots) connection.next_fill = 0;
  ++connection.in_flight;
  return slot;
}

/// The same over a plain connection. Returns when the last byte is there.
template <class Stamp>
Stamp Executor<Stamp>::send_plainly(Connection& connection, std::uint32_t slot, Stamp first,
                                    Stamp last, Bytes wire) {
  const std::uint32_t* const way = hops_.data() + connection.path;
  last = wire.count > 0 ? transit_.links.cross_all(way + 1, way + 1 + *way, first, last, wire)
                        : last.plus(latency_of(connection.path), Cause::latency);
  Stamp& full = this->slot(connection, slot);
  full = last.plus(connection_kinds_[connection.kind].sync, Cause::latency);
  ++connection.full;
  came(connection.receiver_waits, connection.to, full);
  return last;
}

/// Of a path from its begin to its end.
template <class Stamp>
Duration Executor<Stamp>::latency_of(std::uint32_t path) const {
  std::int64_t ps = 0;
  std::memcpy(&ps, hops_.data() + path - kLatency, sizeof ps);
  return {ps};
}

template <class Stamp>
void Executor<Stamp>::look_up_cost(Cost& cost, const WorkerClass& kind, std::int64_t payload) {
  const bool copies = kind.copy_rate.bytes_per_s > 0;
  cost.bytes = payload;
  const std::int64_t copied = std::max<std::int64_t>(0, payload - kind.first_pass.count);
  cost.busy = copies ? transfer_time({copied}, kind.copy_rate) : Duration{};
  const bool keeps = kind.keep_rate.bytes_per_s > 0;
  cost.keeping = keeps ? transfer_time({payload}, kind.keep_rate) : Duration{};
  cost.wire = kind.wire.on_wire({payload});
}

template <class Stamp>
void Executor<Stamp>::look_up_cost(Cost& cost, const RelayClass& kind, std::int64_t payload) {
  cost.bytes = payload;
  cost.wire = kind.wire.on_wire({payload});
  cost.busy = kind.cost.busy(cost.wire);
  cost.delay = kind.cost.delay(cost.wire);
  cost.after = kind.cost.receiving(cost.wire);
  cost.ahead = kind.cost.ahead;
}

template <class Stamp>
template <bool kSingle>
void Executor<Stamp>::act_worker(Worker& worker, Stamp start) {
  const std::uint32_t payload = std::min(worker.left, worker.slice);
  worker.left -= payload;
  --worker.slices_left;
  Duration busy;
  Bytes wire;
  if (payload > 0) {  // an empty slice costs nothing of what its bytes would
    Cost& cost = worker_costs_[worker.kind].entry(payload);
    if (cost.bytes != payload) look_up_cost(cost, worker_classes_[worker.kind], payload);
    busy = worker.in == 0 ? cost.busy + cost.keeping : cost.busy;
    wire = cost.wire;
  }
  const Duration overhead = this->template overhead<kSingle>(worker);
  const Stamp begin = start.plus(overhead, Cause::latency);
  const Stamp end = begin.plus(busy, Cause::worker);
  [[maybe_unused]] ObservedSlice seen;
  if (is_watched()) seen = slice_of(worker, start, payload);
  if (transit_.is_lossy()) transit_.failing.losses().count({end.ps});
  worker.free = end;
  if (worker.pauses && worker.out != 0) pause(worker, begin, overhead);
  all_outputs<kSingle>(worker, [&](Connection& output) {
    const std::uint32_t number = take_slot(output);
    if (output.sized) slot_payload_[output.far + number] = payload;
    if (output.plain) {
      send_plainly(output, number, begin, end, wire);
      return true;
    }
    if (is_watched()) show_departure(output, number, end);
    send(output, number, begin, end, wire, kSingle && alone_);
    return true;
  });
  if (!kSingle && worker.fills) fill_crossbar(worker, end);
  if (worker.in_step > 0) {
    if (worker.out != 0) {
      worker.free = later(worker.free, transit_.links[worker.server].free);
    } else {
      leave_idle(worker, start, busy);
    }
  }
  if (is_watched()) {
    seen.end = {worker.free.ps};
    observer_->handles(seen);
  }
  all_inputs<kSingle>(worker, [&](Connection& input) {
    drain(input, worker.free.plus(connection_kinds_[input.kind].credit, Cause::slots));
    return true;
  });
  if (!kSingle && worker.crossbar != kNobody && !worker.fills) drain_crossbar(worker, worker.free);
  worker.done = worker.slices_left == 0 && !fetch(worker);
  go_on<kSingle>(worker);
}

template <class Stamp>
template <bool kSingle>
void Executor<Stamp>::go_on(Worker& worker) {
  if (!worker.done) {
    schedule_by<kSingle>(worker);
  } else if (!gates_.empty()) {
    ended(id_of(worker));
  }
}

template <class Stamp>
void Executor<Stamp>::act_relay(std::uint32_t id, Stamp start) {
  Worker& relay = workers_[id];
  Connection& input = connections_[relay.first_in];
  Connection& output = connections_[relay.first_out];
  const std::uint32_t payload = slot_payload_[input.far + input.next_drain];
  relay.free = start;
  if (output.sized) slot_payload_[output.far + output.next_fill] = payload;
  if (++input.next_drain == input.slots) input.next_drain = 0;
  --input.full;
  Cost& cost = relay_costs_[relay.kind].entry(payload);
  if (cost.bytes != payload) look_up_cost(cost, relay_classes_[relay.kind], payload);
  const std::uint32_t number = take_slot(output);
  const Stamp ready = start.plus(Duration{} - cost.ahead, Cause::latency);
  if (connection_kinds_[output.kind].shares) {
    Post& its = posts_.emplace_back();
    its.relay = id;
    its.connection = relay.first_out;
    its.slot = number;
    its.start = ready;
    its.cost = cost;
    if (alone_) settle_posts();
    return schedule_by<true>(relay);
  }
  const Post its{id, relay.first_out, number, ready, cost};
  Thread& thread = threads_[relay.server];
  const Stamp begin = later(ready, thread.free);
  thread.free = begin.plus(cost.busy, Cause::latency);
  if (is_watched()) show_post(its, begin, thread.free);
  const Stamp posted = thread.free;
  thread.free = posted.plus(cost.after, Cause::latency);
  post(its, posted, alone_);
  schedule_by<true>(relay);
}

/// The thread is through with it at `end`; `alone`: nobody else acts in this round.
template <class Stamp>
void Executor<Stamp>::post(const Post& post, Stamp end, bool alone) {
  Connection& output = connections_[post.connection];
  if (is_watched()) show_departure(output, post.slot, end);
  const Stamp sent = end.plus(post.cost.delay, Cause::latency);
  if (!output.plain) return send(output, post.slot, sent, sent, post.cost.wire, alone);
  acknowledge(output, send_plainly(output, post.slot, sent, sent, post.cost.wire));
}

template <class Stamp>
void Executor<Stamp>::act(std::uint32_t id, Instant now) {
  Worker& worker = workers_[id];
  Stamp start;
  if constexpr (Stamp::kCausal) {
    start = worker.single ? start_of<true>(worker) : start_of<false>(worker);
  } else {
    start = {now.ps};
  }
  if (worker.relay) return act_relay(id, start);
  worker.single ? act_worker<true>(worker, start) : act_worker<false>(worker, start);
}

/// Those who act one after another stand far apart in memory: asks for what an actor needs that
/// acts soon. At each depth the address follows from what was asked for at the one before: itself,
/// its connections, those behind them and their slots, links.
template <class Stamp>
void Executor<Stamp>::prefetch(std::uint32_t actor, unsigned depth) const {
  if (actor >= workers_.size()) return prefetch_leg(actor, depth);
  const Worker& worker = workers_[actor];
  if (depth == 0) return __builtin_prefetch(&worker, 1);
  if (!worker.single) return prefetch_many(worker, depth);
  // Who has no input may stand behind the last one: its address is asked for, nothing else.
  const Connection& in = connections_.data()[worker.first_in];
  const Connection& out = connections_.data()[worker.first_out];
  if (depth == 1) {
    __builtin_prefetch(&in, 1);
    return __builtin_prefetch(&out, 1);
  }
  if (worker.outs == 0) return;
  if (depth == 2) {
    __builtin_prefetch(&hops_[out.path - kFirstCut]);
    if (worker.relay) __builtin_prefetch(&slot_payload_[in.far + in.next_drain]);
    if (out.first_leg != kNobody) __builtin_prefetch(&legs_[out.first_leg], 1);
    prefetch_far(out, out.next_fill + 1u);
    if (worker.ins > 0) prefetch_far(in, in.next_drain + 1u);
    return __builtin_prefetch(&waits_[out.to], 1);
  }
  const std::uint32_t begin = out.path + 1, end = begin + hops_[out.path];
  for (std::uint32_t hop = begin; hop != end; ++hop)
    __builtin_prefetch(&transit_.links[hops_[hop] & kLinkBits], 1);
}

/// The same of a worker with several inputs or outputs.
template <class Stamp>
void Executor<Stamp>::prefetch_many(const Worker& worker, unsigned depth) const {
  const Connection* const in = connections_.data() + worker.first_in;
  if (depth == 1 && worker.crossbar != kNobody) {
    const Crossbar& crossbar = crossbars_.data()[worker.crossbar];
    __builtin_prefetch(&crossbar, 1);
    __builtin_prefetch(&crossbar.full, 1);
    __builtin_prefetch(&crossbar.free, 1);
    __builtin_prefetch(&waits_[id_of(worker)], 1);
  }
  if (depth == 1) {
    for (std::uint32_t i = 0; i < worker.ins; ++i) __builtin_prefetch(in + i, 1);
    if (worker.outs == 1) __builtin_prefetch(&connections_[worker.first_out], 1);
    if (worker.outs > 1) __builtin_prefetch(&out_connections_[worker.first_out]);
    return;
  }
  const auto out = [&](std::uint32_t i) -> const Connection& {
    return connections_[worker.outs == 1 ? worker.first_out
                                         : out_connections_[worker.first_out + i]];
  };
  for (std::uint32_t i = 0; depth == 2 && i < worker.ins; ++i)
    prefetch_far(in[i], in[i].next_drain + 1u);
  for (std::uint32_t i = 0; depth == 2 && worker.outs > 1 && i < worker.outs; ++i)
    __builtin_prefetch(&out(i), 1);
  for (std::uint32_t i = 0; depth == 3 && i < worker.outs; ++i) {
    prefetch_far(out(i), out(i).next_fill + 1u);
    if (out(i).first_leg != kNobody) __builtin_prefetch(&legs_[out(i).first_leg], 1);
  }
}

template <class Stamp>
void Executor<Stamp>::prefetch_leg(std::uint32_t actor, unsigned depth) const {
  const std::size_t number = actor - workers_.size();
  if (number >= legs_.size()) return;
  const Leg& leg = legs_[number];
  if (depth == 0) return __builtin_prefetch(&leg, 1);
  const Connection& connection = connections_[leg.connection];
  if (depth == 1) {
    __builtin_prefetch(&connection, 1);
    __builtin_prefetch(&hops_[leg.hop]);
    if (leg.waiting > 0) __builtin_prefetch(&flights_[leg.head], 1);
    return;
  }
  if (depth == 2) {
    for (std::uint32_t hop = leg.hop; hop != leg.hop_end; ++hop)
      __builtin_prefetch(&transit_.links[hops_[hop] & kLinkBits], 1);
    return __builtin_prefetch(leg.last ? static_cast<const void*>(&workers_[connection.to])
                                       : static_cast<const void*>(&leg + 1),
                              1);
  }
  if (!leg.last) return;
  const Worker& to = workers_[connection.to];
  if (to.outs == 1) __builtin_prefetch(&connections_[to.first_out], 1);
}

template <class Stamp>
void Executor<Stamp>::run(const std::function<void(std::uint64_t)>& progress,
                          const std::function<void(double)>& alone) {
  seal();
  gates_.shut([this](const Parties& waiters) {
    for (const std::uint32_t worker : waiters.workers) workers_[worker].waits = true;
    for (const std::uint32_t party : waiters.guests) guest_->hold(party);
  });
  for (std::uint32_t id = 0; id < workers_.size(); ++id) {
    Worker& worker = workers_[id];
    if (worker.relay) {
      worker.in = worker.out = 1;
    } else if (!fetch(worker)) {
      worker.done = true;
      continue;
    }
    if (!worker.waits) schedule(id);
  }
  if (guest_ != nullptr) start_guest();
  if (!gates_.empty()) open_gates();
  if (guest_ != nullptr && workers_.empty()) {
    guest_->run_alone(digest_, alone);
  } else {
    run_events(progress);
  }
  std::string waiting = stuck();
  if (guest_ != nullptr) waiting += guest_->stuck();
  if (!waiting.empty()) throw std::logic_error("the schedule came to a halt: " + waiting);
}

template <class Stamp>
void Executor<Stamp>::run_events(const std::function<void(std::uint64_t)>& progress) {
  const auto on_arrival = [this](std::uint32_t way, Instant at) { arrived(way, at); };
  pause({});
  for (;;) {
    if constexpr (Stamp::kCausal) transit_.wait_for_carrier(queue_, on_arrival);
    if (queue_.empty()) break;
    const std::uint32_t actor = step(progress);
    if (!repetition_.watches(actor)) continue;
    while (!queue_.between_instants()) step(progress);
    repetition_.try_jump(*this);
  }
}

/// One event; returns the actor.
template <class Stamp>
std::uint32_t Executor<Stamp>::step(const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t events_per_pause = 1 << 20;
  const auto far = [this](std::uint32_t actor, auto depth) __attribute__((always_inline)) {
    prefetch(actor, depth);
  };
  const auto near = [this](std::uint32_t actor, auto depth) __attribute__((always_inline)) {
    if constexpr (depth <= 1) prefetch(actor, depth);
  };
  const Event event = is_huge_ ? queue_.pop(far) : is_large_ ? queue_.pop(near) : queue_.pop();
  if (is_shared_) alone_ = queue_.round_ended() && pieces_.empty() && posts_.empty();
  mix_digest(digest_, (static_cast<std::uint64_t>(event.at.ps) << 20) ^ event.actor);
  if (event.actor >= workers_.size()) {
    act_other(event.actor);
  } else {
    act(event.actor, event.at);
    if (++events_ % events_per_pause == 0) pause(progress);
  }
  if (is_shared_ && queue_.round_ended() && !(pieces_.empty() && posts_.empty())) settle();
  return event.actor;
}

template <class Stamp>
void Executor<Stamp>::pause(const std::function<void(std::uint64_t)>& progress) {
  if (progress) progress(events_);
  if (events_ >= repetition_.first_look) repetition_.watch_somebody(*this);
}

template <class Stamp>
void Executor<Stamp>::act_other(std::uint32_t actor) {
  const std::uint32_t leg = actor - static_cast<std::uint32_t>(workers_.size());
  leg < legs_.size() ? act_leg(leg) : guest_->act(actor);
}

template <class Stamp>
void Executor<Stamp>::start_guest() {
  std::vector<bool> shared(transit_.links.size());
  for (const Connection& connection : connections_)
    for (const std::uint32_t hop : path(connection)) shared[hop & kLinkBits] = true;
  guest_->begin(static_cast<std::uint32_t>(workers_.size() + legs_.size()), shared,
                [this](std::uint32_t party, Stamp at) {
                  gates_.guest_ended(party, at, [this](const Parties& waiters, Stamp from) {
                    start(waiters, from);
                  });
                });
}

/// Those that wait for nobody, and for those who have nothing to do.
template <class Stamp>
void Executor<Stamp>::open_gates() {
  for (std::uint32_t id = 0; id < workers_.size(); ++id) {
    if (workers_[id].done && !workers_[id].waits) ended(id);
  }
  gates_.open_first([this](const Parties& waiters, Stamp at) { start(waiters, at); });
}

template <class Stamp>
void Executor<Stamp>::ended(std::uint32_t worker) {
  gates_.worker_ended(worker, workers_[worker].free,
                      [this](const Parties& waiters, Stamp at) { start(waiters, at); });
}

/// A gate has opened.
template <class Stamp>
void Executor<Stamp>::start(const Parties& waiters, Stamp at) {
  for (const std::uint32_t id : waiters.workers) {
    Worker& worker = workers_[id];
    worker.free = at;
    worker.done ? ended(id) : schedule(id);
  }
  for (const std::uint32_t party : waiters.guests) guest_->start(party, at);
}

template <class Stamp>
Stamp Executor<Stamp>::makespan() const {
  Stamp latest;
  for (const Worker& worker : workers_) {
    if (!worker.relay) latest = later(latest, worker.free);
  }
  return guest_ == nullptr ? latest : later(latest, guest_->makespan());
}

template <class Stamp>
std::size_t Executor<Stamp>::memory_bytes() const {
  return workers_.capacity() * sizeof(Worker) + courses_.capacity() * sizeof(Course) +
         waits_.capacity() * sizeof(Waits) + connections_.capacity() * sizeof(Connection) +
         crossbars_.capacity() * sizeof(Crossbar) +
         crossbar_waiting_.capacity() * sizeof(std::uint32_t) + legs_.capacity() * sizeof(Leg) +
         flights_.capacity() * sizeof(Flight) + far_slots_.capacity() * sizeof(Stamp) +
         slot_payload_.capacity() * sizeof(std::uint32_t) + transit_.links.memory_bytes() +
         connections_.capacity() * sizeof(std::uint32_t) +
         (hops_.capacity() + out_connections_.capacity()) * sizeof(std::uint32_t);
}

template class Executor<PlainStamp>;
template class Executor<CausalStamp>;

}  // namespace fabricast
