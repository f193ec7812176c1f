// A run: events one after another, and memory that is asked for before they need it.

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/base/digest.hpp"
#include "sim/machines/executor_access.hpp"

namespace fabricast {

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

/// A slice of a plain worker, with its input and its output, that does not pause: what act_worker()
/// does, with every place looked up once.
template <class Stamp>
void Executor<Stamp>::act_plainly(Worker& worker, Stamp start) {
  Connection& in = connections_.data()[worker.first_in];
  Connection& out = connections_.data()[worker.first_out];
  const ConnectionKind* const kinds = connection_kinds_.data();
  const std::uint32_t payload = std::min(worker.left, worker.slice);
  worker.left -= payload;
  --worker.slices_left;
  const std::uint32_t number = take_slot(out);
  if (out.sized) slot_payload_[out.far + number] = payload;
  const Duration overhead = payload > 0 || worker.readies ? kinds[out.kind].overhead : Duration{};
  const Stamp begin = worker.readies ? start : start.plus(overhead, Cause::latency);
  Stamp end = begin, stores = begin;
  Bytes wire;
  if (payload > 0) {
    Cost& cost = worker_costs_[worker.kind].entry(payload);
    if (cost.bytes != payload) look_up_cost(cost, worker_classes_[worker.kind], payload);
    end = begin.plus(cost.busy, Cause::worker);
    stores = begin.plus(cost.ahead_of_links, Cause::worker);
    wire = cost.wire;
  }
  Stamp ready = worker.readies ? end.plus(overhead, Cause::latency) : end;
  const bool is_told = worker.readies && out.sized;
  const Stamp first = is_told ? ready : stores, gone = is_told ? ready : end;
  const std::uint32_t* const way = hops_.data() + out.path;
  typename LinkServers<Stamp>::Ends there;
  if (payload > 0) {
    there = transit_.links.cross_here(way + 1, way + 1 + *way, first, gone, wire);
  } else {
    there.first = there.last = gone.plus(latency_of(out.path), Cause::latency);
  }
  const Stamp full = seen(kinds[out.kind], there.first, there.last, wire);
  slot(out, number) = full;
  ++out.full;
  came(out.receiver_waits, out.to, full);
  if (worker.in_step > 0) ready = later(ready, transit_.links[worker.server].free);
  worker.free = ready;
  drain(in, ready.plus(kinds[in.kind].credit, Cause::slots));
  if (worker.slices_left == 0 && !fetch(worker)) {
    worker.done = true;
    if (!gates_.empty()) ended(id_of(worker));
  } else if (worker.in == 0 || worker.out == 0) {
    schedule(id_of(worker));
  } else {
    wait_for_both(worker, in, out);
  }
}

/// Schedules a worker that has one input and one output, and needs both.
template <class Stamp>
void Executor<Stamp>::wait_for_both(const Worker& worker, Connection& in, Connection& out) {
  const bool needs_full = in.full == 0, needs_free = out.in_flight == out.slots;
  in.receiver_waits = needs_full;
  out.sender_waits = needs_free;
  Stamp at = worker.free;
  if (!needs_full) at = later(at, slot(in, in.next_drain));
  if (!needs_free) at = later(at, slot(out, out.next_fill));
  if (!needs_full && !needs_free)
    return queue_.push(later(Instant{at.ps}, queue_.now()), id_of(worker));
  Waits& rest = waits_[id_of(worker)];
  rest.at = {at.ps};
  rest.missing = needs_full && needs_free ? 2 : 1;
}

template <class Stamp>
void Executor<Stamp>::prepare() {
  if (std::exchange(is_prepared_, true)) return;
  seal();
  gates_.shut([this](const Parties& waiters) {
    for (const std::uint32_t worker : waiters.workers) workers_[worker].waits = true;
    for (const std::uint32_t party : waiters.guests) guest_->hold(party);
  });
}

template <class Stamp>
void Executor<Stamp>::keep_start() {
  assert(guest_ == nullptr && transit_.carrier == nullptr && !transit_.is_lossy());
  prepare();
  start_ = std::make_unique<State>();
  save(*start_);
}

template <class Stamp>
void Executor<Stamp>::rewind() {
  restore(*start_);
  free_flight_ = kNoFlight;
  queue_.restart({});
  gates_.rewind();
  const std::uint64_t first_look = repetition_.first_look;
  repetition_ = {};
  repetition_.first_look = first_look;
  events_ = 0;
  digest_ = kFirstDigest;
}

template <class Stamp>
void Executor<Stamp>::run(const std::function<void(std::uint64_t)>& progress,
                          const std::function<void(double)>& alone) {
  prepare();
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
  if constexpr (!Stamp::kCausal) {
    if (!is_shared_ && is_huge_) return run_rounds<3>(progress);
    if (!is_shared_ && is_large_) return run_rounds<1>(progress);
    if (!is_shared_) return run_rounds<-1>(progress);
  }
  for (;;) {
    if constexpr (Stamp::kCausal) transit_.wait_for_carrier(queue_, on_arrival);
    if (queue_.empty()) break;
    const std::uint32_t actor = step(progress);
    if (!repetition_.watches(actor)) continue;
    while (!queue_.between_instants()) step(progress);
    repetition_.try_jump(*this);
  }
}

/// The same where who acts need not know whether others do so in the same round: whole rounds.
/// `kDepth`: to which depth it pays to ask ahead for what an actor needs; less than 0: not at all.
template <class Stamp>
template <int kDepth>
void Executor<Stamp>::run_rounds(const std::function<void(std::uint64_t)>& progress) {
  const auto soon = [this](std::uint32_t actor, auto depth) __attribute__((always_inline)) {
    if constexpr (static_cast<int>(depth) <= kDepth) prefetch(actor, depth);
  };
  bool is_seen = false;  // the watched worker has acted
  while (!queue_.empty()) {
    std::uint64_t digest = digest_, events = 0;
    const auto act_one =
        [&, workers = workers_.size() ](std::uint32_t actor) __attribute__((always_inline)) {
      const Instant now = queue_.now();
      mix_digest(digest, (static_cast<std::uint64_t>(now.ps) << 20) ^ actor);
      is_seen = is_seen || repetition_.watches(actor);
      if (actor >= workers) return act_other(actor);
      ++events;
      Worker& worker = workers_.data()[actor];
      const bool is_plain = worker.plain && !worker.pauses && worker.in != 0 && worker.out != 0;
      is_plain ? act_plainly(worker, {now.ps}) : act(actor, now);
    };
    // The last event before a pause comes alone: the pause may choose another worker to watch.
    const std::uint64_t until = kEventsPerPause - 1 - events_ % kEventsPerPause;
    const std::uint64_t most = std::max<std::uint64_t>(until, 1);
    const bool was_seen = is_seen;
    std::uint32_t last = 0;
    if constexpr (kDepth >= 0) {
      last = queue_.pop_round(most, soon, act_one);
    } else {
      last = queue_.pop_round(most, RadixHeap::Nobody{}, act_one);
    }
    digest_ = digest;
    events_ += events;
    if (until == 0 && events > 0) {
      pause(progress);
      is_seen = was_seen || repetition_.watches(last);
    }
    if (!is_seen || !queue_.between_instants()) continue;
    repetition_.try_jump(*this);
    is_seen = false;
  }
}

/// One event; returns the actor.
template <class Stamp>
std::uint32_t Executor<Stamp>::step(const std::function<void(std::uint64_t)>& progress) {
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
    if (++events_ % kEventsPerPause == 0) pause(progress);
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

template void Executor<PlainStamp>::prepare();
template void Executor<PlainStamp>::keep_start();
template void Executor<PlainStamp>::rewind();
template void Executor<PlainStamp>::run(const std::function<void(std::uint64_t)>&,
                                        const std::function<void(double)>&);
template void Executor<PlainStamp>::run_events(const std::function<void(std::uint64_t)>&);
template void Executor<PlainStamp>::pause(const std::function<void(std::uint64_t)>&);
template void Executor<PlainStamp>::act_other(std::uint32_t);
template void Executor<PlainStamp>::start_guest();
template void Executor<PlainStamp>::open_gates();
template void Executor<PlainStamp>::ended(std::uint32_t);
template void Executor<PlainStamp>::start(const Parties&, PlainStamp);
template void Executor<CausalStamp>::prepare();
template void Executor<CausalStamp>::keep_start();
template void Executor<CausalStamp>::rewind();
template void Executor<CausalStamp>::run(const std::function<void(std::uint64_t)>&,
                                         const std::function<void(double)>&);
template void Executor<CausalStamp>::run_events(const std::function<void(std::uint64_t)>&);
template void Executor<CausalStamp>::pause(const std::function<void(std::uint64_t)>&);
template void Executor<CausalStamp>::act_other(std::uint32_t);
template void Executor<CausalStamp>::start_guest();
template void Executor<CausalStamp>::open_gates();
template void Executor<CausalStamp>::ended(std::uint32_t);
template void Executor<CausalStamp>::start(const Parties&, CausalStamp);

}  // namespace fabricast
