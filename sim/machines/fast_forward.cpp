// Jumping over what repeats itself. A machine of integer times whose programs go on alike comes,
// sooner or later, to a state that it was in before, but for a shift in time. Between two instants
// the queue follows from the state, and the state decides all that comes: if between the states A
// and B every worker took up primitives that are equal to those it takes up next, then B comes
// again, as much later. Nothing is taken for likely: all of both states is compared.
//
// Whether a state came before is found as Brent finds cycles (An improved Monte Carlo factorization
// algorithm, BIT 20, 1980): the state kept for comparison is replaced at the 1st, 2nd, 4th, ...
// look. A second one is replaced every few looks: it finds short periods soon after they begin. A
// look compares a sample first.
//
// Stamps that know how they came about must repeat in that, too: between A and B each has become
// later by the same parts. As every choice falls as it did, the next period adds the same again.

#include <algorithm>

#include "sim/base/digest.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

/// A copy of a state is kept up to this size.
constexpr std::size_t kStateMax = std::size_t{64} << 20;

constexpr std::uint32_t kSampled = 32;  ///< workers in a fingerprint
constexpr std::uint64_t kShort = 32;    ///< looks

/// A time that lies before the floor decides nothing any more, whatever it is.
std::int64_t ahead(std::int64_t ps, Instant floor, Instant now) {
  return std::max(ps, floor.ps) - now.ps;
}

std::uint32_t back(std::uint32_t place, std::uint32_t steps, std::uint32_t slots) {
  return place >= steps ? place - steps : place + slots - steps;
}

void add(PlainStamp& stamp, const PlainStamp& period, std::int64_t times) {
  stamp.ps += period.ps * times;
}
void add(CausalStamp& stamp, const CausalStamp& period, std::int64_t times) {
  stamp.ps += period.ps * times;
  for (std::size_t i = 0; i < stamp.parts.size(); ++i) stamp.parts[i] += period.parts[i] * times;
}

/// Whether what made up the stamp has repeated: it came a period later, or not at all.
bool has_like_parts(const PlainStamp&, const PlainStamp&, const PlainStamp&) { return true; }
bool has_like_parts(const CausalStamp& was, const CausalStamp& is, const CausalStamp& period) {
  if (was.ps == is.ps && was.parts == is.parts) return true;
  CausalStamp next = was;
  add(next, period, 1);
  return next.ps == is.ps && next.parts == is.parts;
}

}  // namespace

template <class Stamp>
bool Executor<Stamp>::Repetition::may_jump(const Executor& machine) {
  if (machine.memory_bytes() > kStateMax || !machine.gates_.empty() || machine.guest_ != nullptr)
    return false;
  return !Stamp::kCausal || (!machine.is_watched() && machine.transit_.carrier == nullptr &&
                             !machine.transit_.is_lossy());
}

/// Picks an unfinished worker: the state is compared each time it starts a slice.
template <class Stamp>
void Executor<Stamp>::Repetition::watch_somebody(const Executor& machine) {
  if (!may_jump(machine)) return;
  if (watched_ != kNobody && !machine.workers_[watched_].done) return;
  watched_ = 0;
  while (watched_ < machine.workers_.size() &&
         (machine.workers_[watched_].relay || machine.workers_[watched_].done))
    ++watched_;
  if (watched_ == machine.workers_.size()) watched_ = kNobody;
}

/// Bytes that queue in front of a joint may ask for a time that has passed.
template <class Stamp>
Instant Executor<Stamp>::Repetition::floor(const Executor& machine) {
  std::int64_t least = machine.queue_.now().ps;
  for (const Leg& leg : machine.legs_) {
    std::uint32_t at = leg.head;
    for (std::uint32_t i = 0; i < leg.waiting; ++i, at = machine.flights_[at].next)
      least = std::min(least, machine.flights_[at].first.ps);
  }
  return {least};
}

template <class Stamp>
void Executor<Stamp>::Repetition::try_jump(Executor& machine) {
  const std::uint64_t print = fingerprint(machine);
  for (Kept& kept : kept_) {
    // Comparisons in vain must stay cheap beside the events. Another phase of the period may look
    // like the one that is kept, one look before it: it must not use up what that needs.
    if (!kept.state || print != kept.state->fingerprint ||
        kept.comparisons * machine.workers_.size() > machine.events_ - kept.state->events)
      continue;
    ++kept.comparisons;
    if (!repeats(*kept.state, machine)) continue;
    const std::uint64_t periods = periods_ahead(*kept.state, machine);
    if (periods == 0) continue;
    jump(*kept.state, machine, periods);
    kept_ = {};
    break;
  }
  // A jump leaves the fingerprint as it is: it is of times from now on.
  for (Kept& kept : kept_) {
    if (kept.state && ++kept.looks <= kept.looks_max) continue;
    const bool is_long = &kept == kept_.data();
    kept.looks_max = !is_long ? kShort : kept.state ? 2 * kept.looks : 1;
    if (!is_long) kept.looks = 0;
    save(kept, machine, print);
  }
}

template <class Stamp>
void Executor<Stamp>::Repetition::save(Kept& kept, const Executor& machine, std::uint64_t print) {
  if (!kept.state) kept.state = std::make_unique<State>();
  kept.comparisons = 0;
  State& state = *kept.state;
  state.now = machine.queue_.now();
  state.floor = floor(machine);
  state.events = machine.events_;
  state.fingerprint = print;
  machine.save(state);
}

template <class Stamp>
void Executor<Stamp>::save(State& state) const {
  state.workers = workers_;
  state.courses = courses_;
  state.connections = connections_;
  state.crossbars = crossbars_;
  if (!crossbars_.empty()) state.waits = waits_;
  state.far_slots = far_slots_;
  state.slot_payload = slot_payload_;
  state.legs = legs_;
  state.flights = flights_;
  state.links = transit_.links.all();
  state.idle_times = transit_.links.idle();
  state.threads = threads_;
  state.idle = idle_;
  state.idle_seen = idle_seen_;
  state.sent_in_step = sent_in_step_;
}

/// The queue, which follows from the state, and the clock are the caller's.
template <class Stamp>
void Executor<Stamp>::restore(const State& state) {
  workers_ = state.workers;
  courses_ = state.courses;
  connections_ = state.connections;
  crossbars_ = state.crossbars;
  if (!crossbars_.empty()) waits_ = state.waits;
  far_slots_ = state.far_slots;
  slot_payload_ = state.slot_payload;
  legs_ = state.legs;
  flights_ = state.flights;
  for (std::uint32_t i = 0; i < state.links.size(); ++i) transit_.links[i] = state.links[i];
  transit_.links.idle() = state.idle_times;
  threads_ = state.threads;
  idle_ = state.idle;
  idle_seen_ = state.idle_seen;
  sent_in_step_ = state.sent_in_step;
}

/// A hash of some times. Equal states have equal ones.
template <class Stamp>
std::uint64_t Executor<Stamp>::Repetition::fingerprint(const Executor& machine) const {
  const std::int64_t now = machine.queue_.now().ps;
  std::uint64_t hash = 0;
  const std::size_t stride = machine.workers_.size() / kSampled + 1;
  for (std::size_t i = watched_ % stride; i < machine.workers_.size(); i += stride) {
    const Worker& worker = machine.workers_[i];
    const std::int64_t busy = worker.done ? -1 : std::max(worker.free.ps - now, std::int64_t{0});
    mix_digest(hash, static_cast<std::uint64_t>(busy));
    mix_digest(hash, worker.slices_left);
  }
  return hash;
}

/// The parts are those of the first worker that goes on.
template <class Stamp>
Stamp Executor<Stamp>::Repetition::period_since(const State& was, const Executor& machine) {
  const std::int64_t ps = (machine.queue_.now() - was.now).ps;
  for (std::size_t i = 0; Stamp::kCausal && i < machine.workers_.size(); ++i) {
    Stamp period = machine.workers_[i].free;
    add(period, was.workers[i].free, -1);
    if (!machine.workers_[i].done && period.ps == ps) return period;
  }
  return {ps};
}

/// Whether all that decides the future is as it was then, but for the time and the programs.
template <class Stamp>
bool Executor<Stamp>::Repetition::repeats(const State& was, const Executor& machine) {
  const Instant now = machine.queue_.now(), least = floor(machine);
  const Stamp period = period_since(was, machine);
  const auto same = [&](const Stamp& a, const Stamp& b) {
    return ahead(a.ps, was.floor, was.now) == ahead(b.ps, least, now) &&
           has_like_parts(a, b, period);
  };
  if (least - now != was.floor - was.now) return false;
  for (std::size_t i = 0; i < machine.workers_.size(); ++i) {
    const Worker &a = was.workers[i], &b = machine.workers_[i];
    if (a.done != b.done) return false;
    if (b.done) continue;
    if (!same(a.free, b.free) || a.left != b.left || a.slice != b.slice || a.in != b.in ||
        a.out != b.out || a.slices_left != b.slices_left || a.begun != b.begun)
      return false;
    if (b.crossbar != kNobody &&
        was.waits[i].crossed - was.crossbars[b.crossbar].filled !=
            machine.waits_[i].crossed - machine.crossbars_[b.crossbar].filled)
      return false;
    if (b.in_step == 0) continue;
    if (was.sent_in_step[i] != machine.sent_in_step_[i]) return false;
    const std::uint32_t link = b.server;
    if (was.idle[link] - was.idle_seen[i] != machine.idle_[link] - machine.idle_seen_[i])
      return false;
  }
  for (std::size_t i = 0; i < machine.threads_.size(); ++i)
    if (!same(was.threads[i].free, machine.threads_[i].free)) return false;
  for (std::uint32_t i = 0; i < machine.transit_.links.size(); ++i)
    if (!same(was.links[i].free, machine.transit_.links[i].free)) return false;
  for (std::size_t i = 0; i < was.idle_times.size(); ++i)
    if (was.idle_times[i].since(was.floor.ps) != machine.transit_.links.idle()[i].since(least.ps))
      return false;
  for (std::uint32_t i = 0; i < machine.connections_.size(); ++i)
    if (!repeats(was, machine, least, period, i)) return false;
  for (std::uint32_t i = 0; i < machine.crossbars_.size(); ++i)
    if (!repeats(was, machine, least, was.crossbars[i], machine.crossbars_[i])) return false;
  for (std::size_t i = 0; i < machine.legs_.size(); ++i) {
    const Leg &a = was.legs[i], &b = machine.legs_[i];
    const Connection& connection = machine.connections_[b.connection];
    const Connection& before = was.connections[b.connection];
    if (a.waiting != b.waiting) return false;
    std::uint32_t x = a.head, y = b.head;
    for (std::uint32_t k = 0; k < b.waiting; ++k) {
      const Flight &c = was.flights[x], &d = machine.flights_[y];
      x = c.next;
      y = d.next;
      if (c.first.ps - was.now.ps != d.first.ps - now.ps ||
          c.last.ps - was.now.ps != d.last.ps - now.ps || c.wire != d.wire ||
          !has_like_parts(c.first, d.first, period) || !has_like_parts(c.last, d.last, period) ||
          back(before.next_fill, c.slot, before.slots) !=
              back(connection.next_fill, d.slot, connection.slots))
        return false;
    }
  }
  return true;
}

/// Slots are taken in turns: it counts how far one is from the next to be filled.
template <class Stamp>
bool Executor<Stamp>::Repetition::repeats(const State& was, const Executor& machine, Instant least,
                                          const Stamp& period, std::uint32_t connection) {
  const Connection &a = was.connections[connection], &b = machine.connections_[connection];
  const std::uint32_t slots = b.slots;
  if (a.in_flight != b.in_flight || a.full != b.full || a.sender_waits != b.sender_waits ||
      a.receiver_waits != b.receiver_waits ||
      back(a.next_fill, a.next_drain, slots) != back(b.next_fill, b.next_drain, slots))
    return false;
  const auto stamp = [](const Connection& of, const HugePageVector<Stamp>& far,
                        std::uint32_t i) -> const Stamp& {
    return i < kNearSlots ? of.near_slots[i] : far[of.far + i - kNearSlots];
  };
  for (std::uint32_t i = 0; i < slots; ++i) {
    const std::uint32_t x = (a.next_fill + i) % slots, y = (b.next_fill + i) % slots;
    const Stamp &before = stamp(a, was.far_slots, x), &is = stamp(b, machine.far_slots_, y);
    if (ahead(before.ps, was.floor, was.now) != ahead(is.ps, least, machine.queue_.now()) ||
        !has_like_parts(before, is, period))
      return false;
    if (b.sized && was.slot_payload[a.far + x] != machine.slot_payload_[b.far + y]) return false;
  }
  return true;
}

/// Of a machine whose stamps have no parts.
template <class Stamp>
bool Executor<Stamp>::Repetition::repeats(const State& was, const Executor& machine, Instant least,
                                          const Crossbar& a, const Crossbar& b) {
  if (a.filled - a.drained != b.filled - b.drained || a.senders_waiting != b.senders_waiting ||
      a.receivers_waiting != b.receivers_waiting)
    return false;
  const auto same = [&](const Stamp& before, const Stamp& is) {
    return ahead(before.ps, was.floor, was.now) == ahead(is.ps, least, machine.queue_.now());
  };
  for (std::uint32_t i = 0; i < b.slots; ++i) {
    const std::uint32_t x = (a.filled + i) % b.slots, y = (b.filled + i) % b.slots;
    if (a.fills[x] != b.fills[y] || a.drains[x] != b.drains[y] || !same(a.full[x], b.full[y]) ||
        !same(a.free[x], b.free[y]))
      return false;
  }
  return true;
}

/// The number of the primitive that comes next.
template <class Stamp>
std::uint64_t Executor<Stamp>::Repetition::next_primitive(const Executor& machine,
                                                          const Worker& worker,
                                                          const Course& course) {
  return machine.programs_[course.program]->number(course.role, course.cursor) - worker.same;
}

/// How often what lies between that state and this one comes again.
template <class Stamp>
std::uint64_t Executor<Stamp>::Repetition::periods_ahead(const State& was,
                                                         const Executor& machine) {
  std::uint64_t periods = UINT64_MAX;
  for (std::size_t i = 0; i < machine.workers_.size() && periods > 0; ++i) {
    const Worker &a = was.workers[i], &b = machine.workers_[i];
    if (b.relay || b.done) continue;
    const Program& program = *machine.programs_[machine.courses_[i].program];
    const std::uint64_t first = next_primitive(machine, a, was.courses[i]);
    const std::uint64_t stride = next_primitive(machine, b, machine.courses_[i]) - first;
    if (stride > 0)
      periods =
          std::min(periods, program.repeats(machine.courses_[i].role, first, stride) / stride);
  }
  return periods == UINT64_MAX ? 0 : periods;
}

template <class Stamp>
void Executor<Stamp>::Repetition::jump(const State& was, Executor& machine, std::uint64_t periods) {
  const auto times = static_cast<std::int64_t>(periods);
  const Duration shift = (machine.queue_.now() - was.now) * times;
  const std::uint64_t skipped = (machine.events_ - was.events) * periods;
  const Stamp period = period_since(was, machine);
  const auto move = [&](Stamp& stamp) { add(stamp, period, times); };
  for (std::size_t i = 0; i < machine.workers_.size(); ++i) {
    Worker& worker = machine.workers_[i];
    if (worker.done) continue;
    move(worker.free);
    if (worker.relay) continue;
    Course& course = machine.courses_[i];
    const Program& program = *machine.programs_[course.program];
    const std::uint64_t first = next_primitive(machine, was.workers[i], was.courses[i]);
    const std::uint64_t next = next_primitive(machine, worker, course);
    course.cursor = program.cursor_at(course.role, next + (next - first) * periods);
    worker.same = 0;
  }
  for (Connection& connection : machine.connections_)
    for (Stamp& stamp : connection.near_slots) move(stamp);
  for (Stamp& stamp : machine.far_slots_) move(stamp);
  for (Crossbar& crossbar : machine.crossbars_) {
    for (Stamp& stamp : crossbar.full) move(stamp);
    for (Stamp& stamp : crossbar.free) move(stamp);
    crossbar.senders_waiting = crossbar.receivers_waiting = 0;  // all are scheduled again
  }
  for (Flight& flight : machine.flights_) {
    move(flight.first);
    move(flight.last);
  }
  for (Thread& thread : machine.threads_) move(thread.free);
  for (std::uint32_t i = 0; i < machine.transit_.links.size(); ++i) {
    auto& link = machine.transit_.links[i];
    move(link.free);
    link.carried.count += (link.carried.count - was.links[i].carried.count) * times;
  }
  for (IdleTimes& idle : machine.transit_.links.idle()) idle.shift(shift.ps);
  mix_digest(machine.digest_, periods);
  mix_digest(machine.digest_, static_cast<std::uint64_t>(shift.ps));
  machine.events_ += skipped;
  events_skipped += skipped;

  machine.queue_.restart(machine.queue_.now() + shift);
  for (std::uint32_t id = 0; id < machine.workers_.size(); ++id)
    if (!machine.workers_[id].done) machine.schedule(id);
  for (std::uint32_t id = 0; id < machine.legs_.size(); ++id)
    if (machine.legs_[id].waiting > 0) machine.arm_leg(id);
}

template void Executor<PlainStamp>::save(State&) const;
template void Executor<PlainStamp>::restore(const State&);
template bool Executor<PlainStamp>::Repetition::may_jump(const Executor&);
template void Executor<PlainStamp>::Repetition::watch_somebody(const Executor&);
template Instant Executor<PlainStamp>::Repetition::floor(const Executor&);
template void Executor<PlainStamp>::Repetition::try_jump(Executor&);
template void Executor<PlainStamp>::Repetition::save(Kept&, const Executor&, std::uint64_t);
template std::uint64_t Executor<PlainStamp>::Repetition::fingerprint(const Executor&) const;
template PlainStamp Executor<PlainStamp>::Repetition::period_since(const State&, const Executor&);
template std::uint64_t Executor<PlainStamp>::Repetition::next_primitive(const Executor&,
                                                                        const Worker&,
                                                                        const Course&);
template bool Executor<PlainStamp>::Repetition::repeats(const State&, const Executor&);
template bool Executor<PlainStamp>::Repetition::repeats(const State&, const Executor&, Instant,
                                                        const PlainStamp&, std::uint32_t);
template bool Executor<PlainStamp>::Repetition::repeats(const State&, const Executor&, Instant,
                                                        const Crossbar&, const Crossbar&);
template std::uint64_t Executor<PlainStamp>::Repetition::periods_ahead(const State&,
                                                                       const Executor&);
template void Executor<PlainStamp>::Repetition::jump(const State&, Executor&, std::uint64_t);
template void Executor<CausalStamp>::save(State&) const;
template void Executor<CausalStamp>::restore(const State&);
template bool Executor<CausalStamp>::Repetition::may_jump(const Executor&);
template void Executor<CausalStamp>::Repetition::watch_somebody(const Executor&);
template Instant Executor<CausalStamp>::Repetition::floor(const Executor&);
template void Executor<CausalStamp>::Repetition::try_jump(Executor&);
template void Executor<CausalStamp>::Repetition::save(Kept&, const Executor&, std::uint64_t);
template std::uint64_t Executor<CausalStamp>::Repetition::fingerprint(const Executor&) const;
template CausalStamp Executor<CausalStamp>::Repetition::period_since(const State&, const Executor&);
template std::uint64_t Executor<CausalStamp>::Repetition::next_primitive(const Executor&,
                                                                         const Worker&,
                                                                         const Course&);
template bool Executor<CausalStamp>::Repetition::repeats(const State&, const Executor&);
template bool Executor<CausalStamp>::Repetition::repeats(const State&, const Executor&, Instant,
                                                         const CausalStamp&, std::uint32_t);
template bool Executor<CausalStamp>::Repetition::repeats(const State&, const Executor&, Instant,
                                                         const Crossbar&, const Crossbar&);
template std::uint64_t Executor<CausalStamp>::Repetition::periods_ahead(const State&,
                                                                        const Executor&);
template void Executor<CausalStamp>::Repetition::jump(const State&, Executor&, std::uint64_t);

}  // namespace fabricast
