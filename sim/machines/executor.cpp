#include "sim/machines/executor.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "sim/machines/executor_access.hpp"

namespace fabricast {

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

/// The fixed cost of a primitive, or of one that only sends or only receives (`is_end`): that of
/// its outputs; of its inputs when it only receives.
template <class Stamp>
template <bool kSingle>
Duration Executor<Stamp>::overhead(const Worker& worker, bool is_end) {
  Duration most = kSingle ? Duration{} : crossbar_overhead(worker);
  // The first of those that are alike says it for all of them.
  const auto widen = [&](const Connection& connection) {
    const ConnectionKind& kind = connection_kinds_[connection.kind];
    most = std::max(most, is_end ? kind.overhead - kind.end_saves : kind.overhead);
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
  const auto wait = [&at](const Stamp& until) {
    if (until.ps > at->ps) at = &until;
  };
  all_inputs<kSingle>(worker, [&](Connection& input) {
    wait(slot(input, input.next_drain));
    return true;
  });
  all_outputs<kSingle>(worker, [&](Connection& output) {
    wait(slot(output, output.next_fill));
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

/// The next slice goes over a plain connection. Returns when the last byte is there.
template <class Stamp>
Stamp Executor<Stamp>::send_plainly(Connection& connection, std::uint32_t slot, Stamp first,
                                    Stamp last, Bytes wire) {
  const std::uint32_t* const way = hops_.data() + connection.path;
  if (wire.count > 0) {
    const auto there = transit_.links.cross_all(way + 1, way + 1 + *way, first, last, wire);
    first = there.first;
    last = there.last;
  } else {
    first = last = last.plus(latency_of(connection.path), Cause::latency);
  }
  Stamp& full = this->slot(connection, slot);
  full = seen(connection_kinds_[connection.kind], first, last, wire);
  ++connection.full;
  came(connection.receiver_waits, connection.to, full);
  return last;
}

template <class Stamp>
void Executor<Stamp>::look_up_cost(Cost& cost, const WorkerClass& kind, std::int64_t payload) {
  const bool copies = kind.copy_rate.bytes_per_s > 0;
  cost.bytes = payload;
  const std::int64_t copied = std::max<std::int64_t>(0, payload - kind.first_pass.count);
  cost.busy = copies ? transfer_time({copied}, kind.copy_rate) : Duration{};
  const bool keeps = kind.keep_rate.bytes_per_s > 0;
  cost.keeping = keeps ? transfer_time({payload}, kind.keep_rate) : Duration{};
  cost.ahead_of_links =
      copies ? transfer_time({std::min(copied, kind.copied_ahead.count)}, kind.copy_rate)
             : Duration{};
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
  Duration busy, ahead_of_links;
  Bytes wire;
  if (payload > 0) {  // an empty slice costs nothing of what its bytes would
    Cost& cost = worker_costs_[worker.kind].entry(payload);
    if (cost.bytes != payload) look_up_cost(cost, worker_classes_[worker.kind], payload);
    busy = worker.in == 0 ? cost.busy + cost.keeping : cost.busy;
    ahead_of_links = cost.ahead_of_links;
    wire = cost.wire;
  }
  const bool is_end = (worker.in == 0 || worker.out == 0) && worker.crossbar == kNobody;
  const bool costs = payload > 0 || worker.readies;
  const Duration overhead = costs ? this->template overhead<kSingle>(worker, is_end) : Duration{};
  const Stamp begin = worker.readies ? start : start.plus(overhead, Cause::latency);
  const Stamp end = begin.plus(busy, Cause::worker);
  const Stamp stores = begin.plus(ahead_of_links, Cause::worker);
  if (worker.late && !worker.begun && stores.ps > queue_.now().ps) {
    worker.begun = true;
    --events_;  // what has come to a link is no event of its own
    return queue_.push({stores.ps}, id_of(worker));
  }
  worker.begun = false;
  worker.left -= payload;
  --worker.slices_left;
  [[maybe_unused]] ObservedSlice seen;
  if (is_watched()) seen = slice_of(worker, start, payload);
  if (transit_.is_lossy()) transit_.failing.losses().count({end.ps});
  worker.free = worker.readies ? end.plus(overhead, Cause::latency) : end;
  if (worker.pauses && worker.out != 0) {
    const Duration before = worker.readies || payload == 0
                                ? Duration{}
                                : this->template overhead<kSingle>(worker, true);
    pause(worker, stores, before + ahead_of_links);
  }
  all_outputs<kSingle>(worker, [&](Connection& output) {
    const std::uint32_t number = take_slot(output);
    if (output.sized) slot_payload_[output.far + number] = payload;
    // A relay sees a slice when it is told, a worker by what comes.
    const bool is_told = worker.readies && output.sized;
    const Stamp first = is_told ? worker.free : stores, last = is_told ? worker.free : end;
    if (output.plain) {
      send_plainly(output, number, first, last, wire);
      return true;
    }
    if (is_watched()) show_departure(output, number, last);
    send(output, number, first, last, wire, kSingle && alone_);
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
  if (Stamp::kCausal || worker.begun) {
    start = worker.single ? start_of<true>(worker) : start_of<false>(worker);
  } else {
    start = Stamp{now.ps};
  }
  if (worker.relay) return act_relay(id, start);
  worker.single ? act_worker<true>(worker, start) : act_worker<false>(worker, start);
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
         times_.capacity() +
         (hops_.capacity() + out_connections_.capacity()) * sizeof(std::uint32_t);
}

template class Executor<PlainStamp>;
template class Executor<CausalStamp>;

}  // namespace fabricast
