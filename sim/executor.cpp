#include "sim/executor.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <stdexcept>

namespace fabricast {

template <class Stamp>
std::uint32_t Executor<Stamp>::add_link(LinkSpec spec) {
  Link link;
  link.rate = spec.rate;
  link.latency = spec.latency;
  links_.push_back(link);
  return static_cast<std::uint32_t>(links_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_thread() {
  threads_.push_back({});
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_worker_class(const WorkerClass& worker_class) {
  worker_classes_.push_back(worker_class);
  worker_costs_.emplace_back();
  return static_cast<std::uint32_t>(worker_classes_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_relay_class(const RelayClass& relay_class) {
  relay_classes_.push_back(relay_class);
  relay_costs_.emplace_back();
  return static_cast<std::uint32_t>(relay_classes_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_worker(std::uint32_t worker_class, const Program& program,
                                          Role role) {
  assert(worker_class < worker_classes_.size());
  // Few programs run together, and workers of one program are added in a row.
  if (programs_.empty() || programs_.back() != &program) programs_.push_back(&program);
  Worker worker;
  worker.kind = static_cast<std::uint16_t>(worker_class);
  worker.program = static_cast<std::uint16_t>(programs_.size() - 1);
  worker.role = role;
  workers_.push_back(worker);
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_relay(std::uint32_t relay_class, std::uint32_t thread) {
  assert(relay_class < relay_classes_.size());
  assert(thread < threads_.size());
  Worker relay;
  relay.kind = static_cast<std::uint16_t>(relay_class);
  relay.thread = thread;
  workers_.push_back(relay);
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

template <class Stamp>
void Executor<Stamp>::connect(const ConnectionSpec& spec) {
  assert(spec.from < workers_.size() && spec.to < workers_.size());
  assert(spec.slots >= 1 && spec.slots < 65536 && spec.path.size() < 65536);
  Connection connection;
  connection.from = spec.from;
  connection.to = spec.to;
  connection.slots = static_cast<std::uint16_t>(spec.slots);
  connection.first_hop = static_cast<std::uint32_t>(hops_.size());
  connection.hops = static_cast<std::uint16_t>(spec.path.size());
  connection.overhead = spec.overhead;
  connection.sync = spec.sync;
  connection.credit = spec.credit;
  connection.ack = spec.ack;
  connection.sized = workers_[spec.to].relay();
  hops_.insert(hops_.end(), spec.path.begin(), spec.path.end());
  connections_.push_back(connection);
}

/// Lays connections out by receiver, and gives every worker its inputs and outputs.
template <class Stamp>
void Executor<Stamp>::seal() {
  std::vector<std::uint32_t> order(connections_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return connections_[a].to < connections_[b].to;
  });
  std::vector<std::uint32_t> place(order.size());
  std::vector<Connection> sorted;
  sorted.reserve(order.size());
  std::uint32_t slots = 0;
  bool sized = false;
  for (const std::uint32_t old : order) {
    place[old] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(connections_[old]);
    sorted.back().first_slot = slots;
    slots += sorted.back().slots;
    sized = sized || sorted.back().sized;
    ++workers_[sorted.back().to].ins;
    ++workers_[sorted.back().from].outs;
  }
  std::uint32_t in = 0, out = 0;
  for (Worker& worker : workers_) {
    assert(worker.ins <= 32 && worker.outs <= 32);
    assert(!worker.relay() || (worker.ins == 1 && worker.outs == 1));
    worker.first_in = in;
    worker.first_out = out;
    in += worker.ins;
    out += worker.outs;
    worker.outs = 0;
  }
  out_connections_.resize(order.size());
  for (std::uint32_t old = 0; old < order.size(); ++old) {
    Worker& from = workers_[connections_[old].from];
    out_connections_[from.first_out + from.outs++] = place[old];
  }
  connections_ = std::move(sorted);
  slots_.assign(slots, Stamp{});
  slot_payload_.assign(sized ? slots : 0, 0);
}

/// Loads the next primitive. False when the program has ended.
template <class Stamp>
bool Executor<Stamp>::fetch(Worker& worker) {
  Primitive primitive;
  if (!programs_[worker.program]->next(worker.role, worker.cursor, primitive)) return false;
  assert(primitive.slices >= 1);
  assert(std::bit_width(primitive.in) <= worker.ins && std::bit_width(primitive.out) <= worker.outs);
  worker.in = primitive.in;
  worker.out = primitive.out;
  worker.slices_left = primitive.slices;
  worker.left = primitive.chunk;
  worker.slice = primitive.slice;
  return true;
}

/// The fixed cost of a primitive: that of its outputs; of its inputs when it only receives.
template <class Stamp>
Duration Executor<Stamp>::overhead(const Worker& worker) const {
  Duration most;
  for (std::uint32_t mask = worker.out; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
    most = std::max(most, connections_[out_connections_[worker.first_out + i]].overhead);
  }
  if (worker.out != 0) return most;
  for (std::uint32_t mask = worker.in; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
    most = std::max(most, connections_[worker.first_in + i].overhead);
  }
  return most;
}

/// When the next slice can start; false while a neighbour has yet to act first.
template <class Stamp>
bool Executor<Stamp>::ready(const Worker& worker, Stamp& at) const {
  at = worker.free;
  for (std::uint32_t mask = worker.in; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
    const Connection& connection = connections_[worker.first_in + i];
    if (connection.in_flight == 0) return false;
    at = later(at, slots_[connection.first_slot + connection.next_drain]);
  }
  for (std::uint32_t mask = worker.out; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
    const Connection& connection = connections_[out_connections_[worker.first_out + i]];
    if (connection.in_flight == connection.slots) return false;
    at = later(at, slots_[connection.first_slot + connection.next_fill]);
  }
  return true;
}

template <class Stamp>
void Executor<Stamp>::arm(std::uint32_t id) {
  Worker& worker = workers_[id];
  Stamp at;
  if (!ready(worker, at)) {
    worker.state = State::waiting;
    return;
  }
  worker.state = State::scheduled;
  queue_.push({std::max(at.ps, queue_.now().ps)}, id);
}

template <class Stamp>
void Executor<Stamp>::wake(std::uint32_t id) {
  if (workers_[id].state == State::waiting) arm(id);
}

template <class Stamp>
void Executor<Stamp>::fill(Connection& connection, const Stamp& at) {
  slots_[connection.first_slot + connection.next_fill] = at;
  if (++connection.next_fill == connection.slots) connection.next_fill = 0;
  ++connection.in_flight;
  wake(connection.to);
}

template <class Stamp>
void Executor<Stamp>::drain(Connection& connection, const Stamp& at) {
  slots_[connection.first_slot + connection.next_drain] = at;
  if (++connection.next_drain == connection.slots) connection.next_drain = 0;
  --connection.in_flight;
  wake(connection.from);
}

/// Sends wire bytes down the path: the first enters at `begin`, the last not before `end`. Returns
/// when the last one arrives at the far end.
template <class Stamp>
Stamp Executor<Stamp>::carry(const Connection& connection, const Stamp& begin, const Stamp& end,
                             Bytes wire) {
  Stamp first = begin;
  Stamp last = end;
  const std::uint32_t* hop = hops_.data() + connection.first_hop;
  for (std::uint32_t i = 0; i < connection.hops; ++i) {
    Link& link = links_[hop[i]];
    if (wire.count > 0) {
      first = later(first, link.free);
      link.free = first.plus(link.occupancy(wire), Cause::link);
      link.carried += wire;
      last = later(last, link.free);
    }
    first = first.plus(link.latency, Cause::latency);
    last = last.plus(link.latency, Cause::latency);
  }
  return last;
}

template <class Stamp>
void Executor<Stamp>::act_worker(Worker& worker, const Stamp& start) {
  const Bytes payload = std::min(worker.left, worker.slice);
  worker.left = worker.left - payload;
  --worker.slices_left;
  Cost& cost = worker_costs_[worker.kind].entry(payload.count);
  if (cost.payload != payload.count) {
    const WorkerClass& kind = worker_classes_[worker.kind];
    cost.payload = payload.count;
    cost.busy = kind.copy_rate.bytes_per_s > 0 ? transfer_time(payload, kind.copy_rate) : Duration{};
    cost.wire = kind.wire.on_wire(payload);
  }
  const Stamp begin = start.plus(overhead(worker), Cause::latency);
  const Stamp end = begin.plus(cost.busy, Cause::worker);
  worker.free = end;
  for (std::uint32_t mask = worker.out; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
    Connection& connection = connections_[out_connections_[worker.first_out + i]];
    const Stamp arrived = carry(connection, begin, end, cost.wire);
    if (connection.sized) slot_payload_[connection.first_slot + connection.next_fill] = payload.count;
    worker.sent += payload;
    fill(connection, arrived.plus(connection.sync, Cause::latency));
  }
  for (std::uint32_t mask = worker.in; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
    Connection& connection = connections_[worker.first_in + i];
    drain(connection, end.plus(connection.credit, Cause::slots));
  }
  if (worker.slices_left == 0 && !fetch(worker)) worker.state = State::done;
}

template <class Stamp>
void Executor<Stamp>::act_relay(Worker& relay, const Stamp& start) {
  Connection& input = connections_[relay.first_in];
  Connection& output = connections_[out_connections_[relay.first_out]];
  const std::int64_t payload = slot_payload_[input.first_slot + input.next_drain];
  const RelayClass& kind = relay_classes_[relay.kind];
  Cost& cost = relay_costs_[relay.kind].entry(payload);
  if (cost.payload != payload) {
    cost.payload = payload;
    cost.wire = kind.wire.on_wire({payload});
    cost.busy = kind.post;
    if (kind.check_rate.bytes_per_s > 0) cost.busy += transfer_time(cost.wire, kind.check_rate);
  }
  Thread& thread = threads_[relay.thread];
  const Stamp posted = later(start, thread.free).plus(cost.busy, Cause::latency);
  thread.free = posted;
  relay.free = start;
  const Stamp arrived = carry(output, posted, posted, cost.wire);
  if (output.sized) slot_payload_[output.first_slot + output.next_fill] = payload;
  relay.sent += Bytes{payload};
  fill(output, arrived.plus(output.sync, Cause::latency));
  drain(input, arrived.plus(output.ack + input.credit, Cause::slots));
}

template <class Stamp>
void Executor<Stamp>::act(std::uint32_t id, Instant now) {
  Worker& worker = workers_[id];
  Stamp start;
  if constexpr (Stamp::kCausal) {
    [[maybe_unused]] const bool is_ready = ready(worker, start);
    assert(is_ready);
  } else {
    start = {now.ps};
  }
  worker.state = State::scheduled;  // a neighbour that it fills must not arm it while it acts
  if (worker.relay()) {
    act_relay(worker, start);
  } else {
    act_worker(worker, start);
  }
  if (worker.state != State::done) arm(id);
}

template <class Stamp>
void Executor<Stamp>::mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  hash ^= hash >> 29;
}

template <class Stamp>
void Executor<Stamp>::run(const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t events_per_report = 1 << 20;
  seal();
  for (std::uint32_t id = 0; id < workers_.size(); ++id) {
    Worker& worker = workers_[id];
    if (worker.relay()) {
      worker.in = worker.out = 1;
    } else if (!fetch(worker)) {
      worker.state = State::done;
      continue;
    }
    arm(id);
  }
  while (!queue_.empty()) {
    const Event event = queue_.pop();
    mix(digest_, (static_cast<std::uint64_t>(event.at.ps) << 20) ^ event.actor);
    act(event.actor, event.at);
    if (++events_ % events_per_report == 0 && progress) progress(events_);
  }
  const std::string waiting = stuck();
  if (!waiting.empty()) throw std::logic_error("the schedule came to a halt: " + waiting);
}

/// Who waits for what, "" when all is done. A relay is done when its input is empty.
template <class Stamp>
std::string Executor<Stamp>::stuck() const {
  std::string out;
  int named = 0;
  for (std::uint32_t id = 0; id < workers_.size() && named < 8; ++id) {
    const Worker& worker = workers_[id];
    if (worker.state == State::done) continue;
    if (worker.relay() && connections_[worker.first_in].in_flight == 0) continue;
    out += "worker " + std::to_string(id) + " (lane " + std::to_string(worker.role.lane) +
           ", position " + std::to_string(worker.role.position) + ") waits for";
    for (std::uint32_t i = 0; i < worker.ins; ++i) {
      const Connection& connection = connections_[worker.first_in + i];
      if ((worker.in >> i & 1u) != 0 && connection.in_flight == 0)
        out += " a slice of worker " + std::to_string(connection.from);
    }
    for (std::uint32_t i = 0; i < worker.outs; ++i) {
      const Connection& connection = connections_[out_connections_[worker.first_out + i]];
      if ((worker.out >> i & 1u) != 0 && connection.in_flight == connection.slots)
        out += " a slot of worker " + std::to_string(connection.to);
    }
    out += "; ";
    ++named;
  }
  return out;
}

template <class Stamp>
Stamp Executor<Stamp>::makespan() const {
  Stamp latest;
  for (const Worker& worker : workers_) {
    if (!worker.relay()) latest = later(latest, worker.free);
  }
  return latest;
}

template <class Stamp>
std::size_t Executor<Stamp>::memory_bytes() const {
  return workers_.capacity() * sizeof(Worker) + connections_.capacity() * sizeof(Connection) +
         slots_.capacity() * sizeof(Stamp) + slot_payload_.capacity() * sizeof(std::int64_t) +
         links_.capacity() * sizeof(Link) +
         (hops_.capacity() + out_connections_.capacity()) * sizeof(std::uint32_t);
}

template class Executor<PlainStamp>;
template class Executor<CausalStamp>;

}  // namespace fabricast
