#include "sim/machines/executor.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <stdexcept>
#include <utility>

#include "sim/base/digest.hpp"

namespace fabricast {

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
  // Few programs run together, and the last ones are asked for most.
  const auto known = std::find(programs_.rbegin(), programs_.rend(), &program);
  const std::ptrdiff_t index = programs_.rend() - known - 1;
  if (index < 0) programs_.push_back(&program);
  Worker worker;
  worker.kind = static_cast<std::uint16_t>(worker_class);
  worker.program = static_cast<std::uint16_t>(index < 0 ? std::ssize(programs_) - 1 : index);
  assert(programs_[worker.program] == &program);
  worker.role = role;
  workers_.push_back(worker);
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_relay(std::uint32_t relay_class, std::uint32_t thread,
                                         std::uint32_t copies) {
  assert(relay_class < relay_classes_.size());
  assert(thread < threads_.size());
  assert(copies >= 1 && copies <= UINT8_MAX);
  Worker relay;
  relay.kind = static_cast<std::uint16_t>(relay_class);
  relay.role.lane = thread;
  relay.relay = true;
  relay.copies = static_cast<std::uint8_t>(copies);
  workers_.push_back(relay);
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

template <class Stamp>
void Executor<Stamp>::connect(const ConnectionSpec& spec) {
  assert(spec.from < workers_.size() && spec.to < workers_.size());
  assert(spec.slots >= 1 && spec.slots < 256);
  assert(spec.copies == 1 || (spec.shares && spec.copies <= UINT16_MAX));
  Connection connection;
  connection.from = spec.from;
  connection.to = spec.to;
  connection.slots = static_cast<std::uint8_t>(spec.slots);
  connection.sized = workers_[spec.to].relay;
  connection.from_relay = workers_[spec.from].relay;
  Paths& paths = paths_[spec.shares ? 1 : 0];
  const std::uint32_t path = paths.ways.add(spec.path);
  if (path == paths.begin.size()) {
    paths.begin.push_back(static_cast<std::uint32_t>(hops_.size()));
    lay_path(spec.path, spec.shares);
  }
  connection.path = paths.begin[path];
  connection.wide = std::any_of(spec.path.begin(), spec.path.end(),
                                [](std::uint32_t link) { return (link & ~kLinkBits) != 0; });
  ConnectionKind kind{spec.overhead, spec.sync,   spec.credit, spec.ack,
                      spec.copies,   spec.shares, {},          {}};
  if (spec.by_line && !workers_[spec.to].relay) {
    const WorkerClass& receiver = worker_classes_[workers_[spec.to].kind];
    kind.line_rate = receiver.wire.rate_on_wire(receiver.copy_rate);
    kind.first_lines = receiver.wire.on_wire(receiver.first_pass);
  }
  const auto known = std::find(connection_kinds_.begin(), connection_kinds_.end(), kind);
  connection.kind = static_cast<std::uint8_t>(known - connection_kinds_.begin());
  if (known == connection_kinds_.end()) connection_kinds_.push_back(kind);
  assert(connection_kinds_.size() <= 256);
  connections_.push_back(connection);
}

/// Links that stand in one step several times are kept once, if slices share them.
template <class Stamp>
void Executor<Stamp>::lay_path(std::span<const std::uint32_t> path, bool shares) {
  const std::size_t number = hops_.size();
  hops_.push_back(0);
  times_.push_back(0);
  std::size_t step = hops_.size();
  for (const std::uint32_t hop : path) {
    if ((hop & kBeside) == 0) step = hops_.size();
    const auto same =
        std::find_if(hops_.begin() + static_cast<std::ptrdiff_t>(step), hops_.end(),
                     [&](std::uint32_t known) { return ((known ^ hop) & ~kBeside) == 0; });
    if (same == hops_.end() || !shares) {
      hops_.push_back(hop);
      times_.push_back(1);
    } else {
      const auto at = static_cast<std::size_t>(same - hops_.begin());
      assert(times_[at] < UINT8_MAX);
      ++times_[at];
    }
  }
  hops_[number] = static_cast<std::uint32_t>(hops_.size() - number - 1);
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
  HugePageVector<Connection> sorted;
  sorted.reserve(order.size());
  std::uint32_t far_slots = 0, payloads = 0;
  for (const std::uint32_t old : order) {
    place[old] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(connections_[old]);
    Connection& connection = sorted.back();
    connection.far_slots = far_slots;
    if (connection.slots > kNearSlots) far_slots += connection.slots - kNearSlots;
    connection.payload = payloads;
    if (connection.sized) payloads += connection.slots;
    ++workers_[connection.to].ins;
    ++workers_[connection.from].outs;
  }
  std::uint32_t in = 0, out = 0;
  for (Worker& worker : workers_) {
    assert(worker.ins <= 32 && worker.outs <= 32);
    assert(!worker.relay || (worker.ins == 1 && worker.outs == 1));
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
  for (Worker& worker : workers_) {
    worker.single = worker.ins <= 1 && worker.outs <= 1;
    if (worker.outs == 1) worker.first_out = out_connections_[worker.first_out];
  }
  connections_ = std::move(sorted);
  paths_ = {};
  lay_legs();
  count_in_step();
  is_large_ = workers_.size() >= kLarge;
  far_slots_.assign(far_slots, Stamp{});
  slot_payload_.assign(payloads, 0);
}

/// The connection of its first output. REQUIRES: it has one.
template <class Stamp>
auto Executor<Stamp>::first_output(const Worker& worker) const -> const Connection& {
  const std::uint32_t first = worker.first_out;
  return connections_[worker.outs == 1 ? first : out_connections_[first]];
}

/// The first link of the way to it. REQUIRES: there is one.
template <class Stamp>
std::uint32_t Executor<Stamp>::sends_over(const Worker& worker) const {
  return hops_[first_output(worker).path + 1] & kLinkBits;
}

/// Workers of one program are one kernel, and go on in step. Other programs' do not wait for them.
template <class Stamp>
void Executor<Stamp>::count_in_step() {
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint16_t> counts;  // by link and program
  const auto count_of = [&](const Worker& worker) -> std::uint16_t* {
    if (worker.relay || worker.outs == 0 || !worker_classes_[worker.kind].in_step) return nullptr;
    const Connection& output = first_output(worker);
    if (workers_[output.to].relay || hops_[output.path] == 0) return nullptr;
    return &counts[{sends_over(worker), worker.program}];
  };
  for (const Worker& worker : workers_)
    if (std::uint16_t* count = count_of(worker)) ++*count;
  for (Worker& worker : workers_)
    if (const std::uint16_t* count = count_of(worker)) worker.in_step = *count;
  if (counts.empty()) return;
  idle_.resize(transit_.links.size());
  idle_seen_.resize(workers_.size(), Duration{-1});
  sent_in_step_.resize(workers_.size());
}

/// A worker in step has handled a slice: it is busy until its stores have left the link, or leaves
/// its share of the link idle.
template <class Stamp>
void Executor<Stamp>::hold(Worker& worker, Stamp start, Duration busy) {
  const std::uint32_t number = sends_over(worker);
  Link& link = transit_.links[number];
  if (worker.out != 0) {
    worker.free = later(worker.free, link.free);
  } else {
    const Duration idle = still_in_step(worker, {busy.ps / worker.in_step});
    if (idle.ps == 0) return;
    const std::int64_t was_free = link.free.ps;
    link.free = later(link.free, start).plus(idle, Cause::worker);
    idle_[number] += Duration{link.free.ps - was_free};
  }
}

/// Of a time that workers in step spend together, what is left of it as they drift apart.
template <class Stamp>
Duration Executor<Stamp>::still_in_step(const Worker& worker, Duration together) const {
  const std::int64_t slices = worker_classes_[worker.kind].in_step_slices;
  if (slices == 0) return together;
  const std::int64_t left = slices - sent_in_step_[id_of(worker)];
  return {left == 0 ? 0 : together.ps * left / slices};
}

/// A worker in step is about to send a slice: since its last one the link was idle for as long as
/// all of them paused.
template <class Stamp>
void Executor<Stamp>::pause(const Worker& worker, Stamp begin, Duration overhead) {
  overhead = still_in_step(worker, overhead);
  if (overhead.ps == 0) return;
  const std::uint32_t number = sends_over(worker);
  Link& link = transit_.links[number];
  Duration& idle = idle_[number];
  Duration& seen = idle_seen_[id_of(worker)];
  if (begin.ps > link.free.ps) {
    idle += Duration{begin.ps - link.free.ps};
  } else if (const Duration missing = overhead - (idle - seen); seen.ps >= 0 && missing.ps > 0) {
    link.free = link.free.plus(missing, Cause::latency);
    idle += missing;
  }
  seen = idle;
  std::uint32_t& sent = sent_in_step_[id_of(worker)];
  if (sent < worker_classes_[worker.kind].in_step_slices) ++sent;
}

/// Links that are booked on arrival: those that ways of different lead join at, or a guest uses.
template <class Stamp>
std::vector<bool> Executor<Stamp>::joints() const {
  if (connections_.empty()) return {};
  std::vector<bool> joins =
      guest_ == nullptr ? std::vector<bool>(transit_.links.size()) : guest_->uses();
  return transit_.joints(std::move(joins), [this](const auto& visit) {
    for (const Connection& connection : connections_) {
      const bool from_worker = !workers_[connection.from].relay;
      visit(path(connection), from_worker ? connection_kinds_[connection.kind].overhead.ps : 0);
    }
  });
}

/// Cuts paths into legs at the joints, and where the carrier takes over and hands back.
template <class Stamp>
void Executor<Stamp>::lay_legs() {
  const std::vector<bool> joins = joints();
  for (std::uint32_t c = 0; c < connections_.size(); ++c) {
    Connection& connection = connections_[c];
    const std::uint32_t begin = connection.path + 1, end = begin + hops_[connection.path];
    for (std::uint32_t hop = begin, next = hop; hop != end; hop = next) {
      next = step_end(hops_.data(), hop, end);
      const bool was_carried = hop != begin && transit_.is_carried(hops_[hop - 1]);
      const bool goes_on = transit_.is_carried(hops_[hop])
                               ? was_carried
                               : !was_carried && !transit_.joins_at(joins, hops_.data(), hop, next);
      if (goes_on) continue;
      if (connection.legged) {
        legs_.back().hop_end = hop;
        legs_.back().last = false;
      } else {
        first_leg_.resize(connections_.size());
        first_leg_[c] = static_cast<std::uint32_t>(legs_.size());
        connection.legged = true;
      }
      legs_.push_back({c, hop, end, 0, 0, 0, true});
    }
  }
  if (transit_.carrier == nullptr) return;
  way_of_leg_.assign(legs_.size(), kNoWay);
  for (std::uint32_t id = 0; id < legs_.size(); ++id) {
    const Leg& leg = legs_[id];
    if (!transit_.is_carried(hops_[leg.hop])) continue;
    way_of_leg_[id] =
        transit_.carrier->add_way({hops_.data() + leg.hop, std::size_t{leg.hop_end} - leg.hop});
    leg_of_way_.resize(std::max(leg_of_way_.size(), way_of_leg_[id] + std::size_t{1}), kNobody);
    leg_of_way_[way_of_leg_[id]] = id;
  }
}

template <class Stamp>
Stamp& Executor<Stamp>::slot(Connection& connection, std::uint32_t i) {
  return i < kNearSlots ? connection.near_slots[i]
                        : far_slots_[connection.far_slots + i - kNearSlots];
}

/// Loads the next primitive. False when the program has ended.
template <class Stamp>
bool Executor<Stamp>::fetch(Worker& worker) {
  Primitive primitive;
  if (is_watched()) observer_->takes_up(id_of(worker), worker.cursor);
  if (!programs_[worker.program]->next(worker.role, worker.cursor, primitive)) return false;
  assert(primitive.slices >= 1);
  assert(std::bit_width(primitive.in) <= worker.ins &&
         std::bit_width(primitive.out) <= worker.outs);
  worker.in = primitive.in;
  worker.out = primitive.out;
  assert(primitive.chunk.count <= UINT32_MAX && primitive.slices <= UINT16_MAX);
  worker.slices_left = static_cast<std::uint16_t>(primitive.slices);
  worker.left = static_cast<std::uint32_t>(primitive.chunk.count);
  worker.slice =
      static_cast<std::uint32_t>(std::min<std::int64_t>(primitive.slice.count, UINT32_MAX));
  return true;
}

/// Visits the inputs of the current primitive until one says false; whether none did.
template <class Stamp>
template <bool kSingle, class Visit>
bool Executor<Stamp>::all_inputs(const Worker& worker, Visit visit) {
  if constexpr (kSingle) return worker.in == 0 || visit(connections_[worker.first_in]);
  for (std::uint32_t mask = worker.in; mask != 0; mask &= mask - 1) {
    if (!visit(connections_[worker.first_in + static_cast<unsigned>(std::countr_zero(mask))]))
      return false;
  }
  return true;
}

template <class Stamp>
template <bool kSingle, class Visit>
bool Executor<Stamp>::all_outputs(const Worker& worker, Visit visit) {
  if constexpr (kSingle) return worker.out == 0 || visit(connections_[worker.first_out]);
  const bool one = worker.outs == 1;
  for (std::uint32_t mask = worker.out; mask != 0; mask &= mask - 1) {
    const std::uint32_t i = worker.first_out + static_cast<unsigned>(std::countr_zero(mask));
    if (!visit(connections_[one ? i : out_connections_[i]])) return false;
  }
  return true;
}

/// The fixed cost of a primitive: that of its outputs; of its inputs when it only receives.
template <class Stamp>
template <bool kSingle>
Duration Executor<Stamp>::overhead(const Worker& worker) {
  Duration most;
  const auto widen = [&](const Connection& connection) {
    most = std::max(most, connection_kinds_[connection.kind].overhead);
    return true;
  };
  if (worker.out != 0) {
    all_outputs<kSingle>(worker, widen);
  } else {
    all_inputs<kSingle>(worker, widen);
  }
  return most;
}

/// When the next slice can start. Null while a neighbour has yet to act first: then the connection
/// that it has to act on knows who waits.
template <class Stamp>
template <bool kSingle>
const Stamp* Executor<Stamp>::ready(const Worker& worker) {
  const Stamp* at = &worker.free;
  const bool is_ready = all_inputs<kSingle>(worker,
                                            [&](Connection& input) {
                                              input.receiver_waits = input.full == 0;
                                              if (input.receiver_waits) return false;
                                              at = &later(*at, slot(input, input.next_drain));
                                              return true;
                                            }) &&
                        all_outputs<kSingle>(worker, [&](Connection& output) {
                          output.sender_waits = output.in_flight == output.slots;
                          if (output.sender_waits) return false;
                          at = &later(*at, slot(output, output.next_fill));
                          return true;
                        });
  return is_ready ? at : nullptr;
}

template <class Stamp>
void Executor<Stamp>::schedule(std::uint32_t id) {
  const Worker& worker = workers_[id];
  const Stamp* const at = worker.single ? ready<true>(worker) : ready<false>(worker);
  if (at != nullptr) queue_.push({std::max(at->ps, queue_.now().ps)}, id);
}

template <class Stamp>
void Executor<Stamp>::drain(Connection& connection, Stamp at) {
  slot(connection, connection.next_drain) = at;
  if (++connection.next_drain == connection.slots) connection.next_drain = 0;
  --connection.in_flight;
  --connection.full;
  if (connection.sender_waits) schedule(connection.from);
}

/// Frees the slot that has been in use longest; the receiver has drained it before.
template <class Stamp>
void Executor<Stamp>::release(Connection& connection, Stamp at) {
  std::uint32_t oldest = std::uint32_t{connection.next_fill} + connection.slots;
  oldest -= connection.in_flight;
  slot(connection, oldest < connection.slots ? oldest : oldest - connection.slots) = at;
  --connection.in_flight;
  if (connection.sender_waits) schedule(connection.from);
}

/// The next slot to fill is the sender's no more, but not yet full.
template <class Stamp>
std::uint32_t Executor<Stamp>::take_slot(Connection& connection) {
  const std::uint32_t slot = connection.next_fill;
  if (++connection.next_fill == connection.slots) connection.next_fill = 0;
  ++connection.in_flight;
  return slot;
}

/// On the first leg of its way.
template <class Stamp>
auto Executor<Stamp>::piece_of_slot(const Connection& connection, std::uint32_t slot, Stamp first,
                                    Stamp last, Bytes wire) const -> Piece {
  Piece piece;
  piece.first = first;
  piece.last = last;
  piece.wire = wire;
  piece.connection = id_of(connection);
  piece.slot = static_cast<std::uint8_t>(slot);
  piece.hop = connection.path + 1;
  const ConnectionKind& kind = connection_kinds_[connection.kind];
  piece.copies = static_cast<std::uint16_t>(kind.copies);
  piece.wide = connection.wide;
  if (connection.legged) {
    piece.next_leg = first_leg_[piece.connection];
    piece.hop_end = legs_[piece.next_leg].hop;
  } else {
    piece.next_leg = kNobody;
    piece.hop_end = piece.hop + hops_[connection.path];
  }
  return piece;
}

/// The next slice of a connection sets out. `alone`: nobody else acts in this round; what shares
/// links waits for the round's end otherwise.
template <class Stamp>
void Executor<Stamp>::send(Connection& connection, std::uint32_t slot, Stamp first, Stamp last,
                           Bytes wire, bool alone) {
  const ConnectionKind& kind = connection_kinds_[connection.kind];
  if (kind.shares && (!alone || connection.wide || kind.copies > 1))
    return pieces_.push_back(piece_of_slot(connection, slot, first, last, wire));
  const std::uint32_t begin = connection.path + 1;
  if (!connection.legged) {
    last = carry(connection, begin, begin + hops_[connection.path], first, last, wire);
    return arrive(connection, slot, first, last, wire);
  }
  const std::uint32_t leg = first_leg_[id_of(connection)];
  last = carry(connection, begin, legs_[leg].hop, first, last, wire);
  enqueue(leg, {first, last, wire, slot});
}

/// Books the links from `hop` on for wire bytes: the first byte comes to the first link at `first`,
/// the last is not there before `last`. Returns when the last one arrives behind the links; `first`
/// becomes when the first one does.
template <class Stamp>
Stamp Executor<Stamp>::carry(const Connection& connection, std::uint32_t hop, std::uint32_t end,
                             Stamp& first, Stamp last, Bytes wire) {
  if (connection.wide) return carry_wide(hop, end, first, last, wire);
  Stamp head = first;
  for (; hop != end; ++hop) {
    const auto& link = transit_.links[hops_[hop]];
    transit_.pass(hops_[hop], head, last, wire);
    const Duration latency = transit_.links.latency(link);
    head = head.plus(latency, Cause::latency);
    last = last.plus(latency, Cause::latency);
  }
  first = head;
  return last;
}

/// The same where a step may be several links wide: the slowest of them counts.
template <class Stamp>
Stamp Executor<Stamp>::carry_wide(std::uint32_t hop, std::uint32_t end, Stamp& first, Stamp last,
                                  Bytes wire) {
  while (hop != end) {
    const std::uint32_t next = step_end(hops_.data(), hop, end);
    Stamp all_first, all_last;
    for (; hop != next; ++hop) {
      const auto& link = transit_.links[hops_[hop] & kLinkBits];
      Stamp one_first = first, one_last = last;
      const Bytes bytes = transit_.on_link(hops_[hop], wire);
      transit_.pass(hops_[hop] & kLinkBits, one_first, one_last, bytes);
      const Duration latency = transit_.links.latency(link);
      all_first = later(all_first, one_first.plus(latency, Cause::latency));
      all_last = later(all_last, one_last.plus(latency, Cause::latency));
    }
    first = all_first;
    last = all_last;
  }
  return last;
}

/// The piece is alone on its links, stands for one, and each of its steps is one link.
template <class Stamp>
void Executor<Stamp>::cross(Piece& piece) {
  piece.last = carry(connections_[piece.connection], piece.hop, piece.hop_end, piece.first,
                     piece.last, piece.wire);
}

/// A piece has crossed the links up to the next leg, or to the receiver.
template <class Stamp>
void Executor<Stamp>::finish(const Piece& piece) {
  if (piece.next_leg == kNobody)
    return arrive(connections_[piece.connection], piece.slot, piece.first, piece.last, piece.wire);
  enqueue(piece.next_leg, {piece.first, piece.last, piece.wire, piece.slot});
}

template <class Stamp>
void Executor<Stamp>::arrive(Connection& connection, std::uint32_t slot_number, const Stamp& first,
                             Stamp last, Bytes wire) {
  const ConnectionKind& kind = connection_kinds_[connection.kind];
  if (is_watched()) observer_->arrives(id_of(connection), slot_number, {last.ps});
  Stamp& full = slot(connection, slot_number);
  full = last.plus(kind.sync, Cause::latency);
  if (kind.line_rate.bytes_per_s > 0 && wire > kind.first_lines) {
    const Duration rest = transfer_time({wire.count - kind.first_lines.count}, kind.line_rate);
    full = later(first.plus(kind.sync, Cause::latency), full.plus(rest * -1, Cause::worker));
  }
  ++connection.full;
  if (connection.receiver_waits) schedule(connection.to);
  if (!connection.from_relay) return;
  Connection& input = connections_[workers_[connection.from].first_in];
  release(input, last.plus(kind.ack + connection_kinds_[input.kind].credit, Cause::slots));
}

template <class Stamp>
void Executor<Stamp>::enqueue(std::uint32_t id, const Flight& flight) {
  if (free_flight_ == kNoFlight) {
    free_flight_ = static_cast<std::uint32_t>(flights_.size());
    flights_.push_back({{}, {}, {}, 0, kNoFlight});
  }
  const std::uint32_t at = free_flight_;
  free_flight_ = flights_[at].next;
  flights_[at] = flight;
  Leg& leg = legs_[id];
  const bool is_first = leg.waiting++ == 0;
  (is_first ? leg.head : flights_[leg.tail].next) = at;
  leg.tail = at;
  if (!is_first) return;
  arm_leg(id);
}

/// REQUIRES: a slice waits.
template <class Stamp>
void Executor<Stamp>::arm_leg(std::uint32_t id) {
  const Leg& leg = legs_[id];
  const Stamp& first = flights_[leg.head].first;
  Instant due{std::max(first.ps, queue_.now().ps)};
  if constexpr (Stamp::kCausal) {
    if (transit_.carrier != nullptr) due = std::max(due, transit_.carrier->now());
  }
  queue_.push(due, static_cast<std::uint32_t>(workers_.size()) + id);
}

/// The foremost slice has come to where its leg begins.
template <class Stamp>
void Executor<Stamp>::act_leg(std::uint32_t id) {
  Leg& leg = legs_[id];
  Connection& connection = connections_[leg.connection];
  const std::uint32_t at = leg.head;
  Flight flight = flights_[at];
  leg.head = flight.next;
  flights_[at].next = free_flight_;
  free_flight_ = at;
  if (--leg.waiting > 0) arm_leg(id);
  if constexpr (Stamp::kCausal) {
    if (transit_.carrier != nullptr && way_of_leg_[id] != kNoWay) {
      carriage_.put(way_of_leg_[id], flight);
      return transit_.hand_over(way_of_leg_[id], queue_.now(), flight.wire);
    }
  }
  const ConnectionKind& kind = connection_kinds_[connection.kind];
  const std::uint32_t next_leg = leg.last ? kNobody : id + 1;
  if (kind.shares && (!alone_ || connection.wide || kind.copies > 1)) {
    Piece piece = piece_of_slot(connection, flight.slot, flight.first, flight.last, flight.wire);
    piece.hop = leg.hop;
    piece.hop_end = leg.hop_end;
    piece.next_leg = next_leg;
    return pieces_.push_back(piece);
  }
  flight.last = carry(connection, leg.hop, leg.hop_end, flight.first, flight.last, flight.wire);
  if (next_leg != kNobody) return enqueue(next_leg, flight);
  arrive(connection, flight.slot, flight.first, flight.last, flight.wire);
}

template <class Stamp>
void Executor<Stamp>::arrived(std::uint32_t way, Instant at) {
  if (way >= leg_of_way_.size() || leg_of_way_[way] == kNobody) return guest_->arrived(way, at);
  Flight flight = carriage_.take(way);
  set_arrived(flight, transit_.carrier->latency(way), at);
  const std::uint32_t id = leg_of_way_[way];
  if (!legs_[id].last) return enqueue(id + 1, flight);
  arrive(connections_[legs_[id].connection], flight.slot, flight.first, flight.last, flight.wire);
}

template <class Stamp>
void Executor<Stamp>::look_up_cost(Cost& cost, const WorkerClass& kind, std::int64_t payload) {
  const bool copies = kind.copy_rate.bytes_per_s > 0;
  cost.bytes = payload;
  const std::int64_t copied = std::max<std::int64_t>(0, payload - kind.first_pass.count);
  cost.busy = copies ? transfer_time({copied}, kind.copy_rate) : Duration{};
  cost.wire = kind.wire.on_wire({payload});
}

template <class Stamp>
void Executor<Stamp>::look_up_cost(Cost& cost, const RelayClass& kind, std::int64_t payload) {
  cost.bytes = payload;
  cost.wire = kind.wire.on_wire({payload});
  cost.busy = kind.cost.busy(cost.wire);
  cost.delay = kind.cost.delay(cost.wire);
  cost.after = kind.cost.receiving(cost.wire);
}

template <class Stamp>
template <bool kSingle>
void Executor<Stamp>::act_worker(Worker& worker, Stamp start) {
  const std::uint32_t payload = std::min(worker.left, worker.slice);
  worker.left -= payload;
  --worker.slices_left;
  Cost& cost = worker_costs_[worker.kind].entry(payload);
  if (cost.bytes != payload) look_up_cost(cost, worker_classes_[worker.kind], payload);
  const Duration overhead = this->template overhead<kSingle>(worker);
  const Stamp begin = start.plus(overhead, Cause::latency);
  const Stamp end = begin.plus(cost.busy, Cause::worker);
  [[maybe_unused]] ObservedSlice seen;
  if (is_watched()) seen = slice_of(worker, start, payload);
  if (transit_.is_lossy()) transit_.failing.losses().count({end.ps});
  worker.free = end;
  if (worker.in_step > 0 && worker.out != 0 && worker_classes_[worker.kind].pauses)
    pause(worker, begin, overhead);
  all_outputs<kSingle>(worker, [&](Connection& output) {
    if (output.sized) slot_payload_[output.payload + output.next_fill] = payload;
    if (is_watched()) show_departure(output, output.next_fill, end);
    send(output, take_slot(output), begin, end, cost.wire, kSingle && alone_);
    return true;
  });
  if (worker.in_step > 0) hold(worker, start, cost.busy);
  if (is_watched()) {
    seen.end = {worker.free.ps};
    observer_->handles(seen);
  }
  all_inputs<kSingle>(worker, [&](Connection& input) {
    drain(input, worker.free.plus(connection_kinds_[input.kind].credit, Cause::slots));
    return true;
  });
  worker.done = worker.slices_left == 0 && !fetch(worker);
}

template <class Stamp>
void Executor<Stamp>::act_relay(std::uint32_t id, Stamp start) {
  Worker& relay = workers_[id];
  Connection& input = connections_[relay.first_in];
  Connection& output = connections_[relay.first_out];
  const std::int64_t payload = slot_payload_[input.payload + input.next_drain];
  relay.free = start;
  if (output.sized) slot_payload_[output.payload + output.next_fill] = payload;
  if (++input.next_drain == input.slots) input.next_drain = 0;
  --input.full;
  Cost& cost = relay_costs_[relay.kind].entry(payload);
  if (cost.bytes != payload) look_up_cost(cost, relay_classes_[relay.kind], payload);
  const Post its{id, take_slot(output), start, cost};
  if (connection_kinds_[output.kind].shares) {
    posts_.push_back(its);
    if (alone_) settle_posts();
    return;
  }
  Thread& thread = threads_[relay.role.lane];
  const Stamp begin = later(start, thread.free);
  thread.free = begin.plus(cost.busy, Cause::latency);
  if (is_watched()) show_post(its, begin, thread.free);
  const Stamp posted = thread.free;
  thread.free = posted.plus(cost.after, Cause::latency);
  post(its, posted, alone_);
}

template <class Stamp>
void Executor<Stamp>::show_post(const Post& post, Stamp begin, Stamp end) const {
  const std::uint32_t thread = workers_[post.relay].role.lane;
  observer_->relays(post.relay, thread, {begin.ps}, {end.ps}, {post.cost.bytes});
}

/// The thread is through with it at `end`; `alone`: nobody else acts in this round.
template <class Stamp>
void Executor<Stamp>::post(const Post& post, Stamp end, bool alone) {
  const Worker& relay = workers_[post.relay];
  Connection& output = connections_[relay.first_out];
  if (is_watched()) show_departure(output, post.slot, end);
  const Stamp sent = end.plus(post.cost.delay, Cause::latency);
  send(output, post.slot, sent, sent, post.cost.wire, alone);
}

template <class Stamp>
void Executor<Stamp>::act(std::uint32_t id, Instant now) {
  Worker& worker = workers_[id];
  Stamp start;
  if constexpr (Stamp::kCausal) {
    start = *(worker.single ? ready<true>(worker) : ready<false>(worker));
  } else {
    start = {now.ps};
  }
  if (worker.relay) {
    act_relay(id, start);
  } else if (worker.single) {
    act_worker<true>(worker, start);
  } else {
    act_worker<false>(worker, start);
  }
  if (!worker.done) {
    schedule(id);
  } else if (!gates_.empty()) {
    ended(id);
  }
}

/// What the worker's slice at `start` waited for. REQUIRES: its slots are as they were then.
template <class Stamp>
ObservedWait Executor<Stamp>::wait_of(Worker& worker, Stamp start) {
  ObservedWait wait;
  if (start.ps == worker.free.ps) return wait;
  all_inputs<false>(worker, [&](Connection& input) {
    const std::uint32_t i = input.next_drain;
    if (slot(input, i).ps != start.ps) return true;
    wait = {ObservedWait::For::full_slot, id_of(input), i, input.from};
    return false;
  });
  if (wait.what != ObservedWait::For::nothing) return wait;
  all_outputs<false>(worker, [&](Connection& output) {
    const std::uint32_t i = output.next_fill;
    if (slot(output, i).ps != start.ps) return true;
    wait = {ObservedWait::For::free_slot, id_of(output), i, output.to};
    return false;
  });
  return wait;
}

template <class Stamp>
ObservedSlice Executor<Stamp>::slice_of(Worker& worker, Stamp start, std::uint32_t payload) {
  return {id_of(worker), {worker.free.ps}, {start.ps}, {}, {payload}, wait_of(worker, start)};
}

template <class Stamp>
void Executor<Stamp>::show_departure(const Connection& connection, std::uint32_t slot,
                                     Stamp end) const {
  observer_->departs(id_of(connection), slot, Instant{end.ps} + transit_.latency(path(connection)));
}

/// Those who act one after another stand far apart in memory: asks for what an actor needs that
/// acts soon. At each depth the address follows from what was asked for at the one before: itself,
/// its connections, those behind them and their slots, links.
template <class Stamp>
void Executor<Stamp>::prefetch(std::uint32_t actor, unsigned depth) const {
  if (actor >= workers_.size()) return prefetch_leg(actor, depth);
  const Worker& worker = workers_[actor];
  if (depth == 0) return __builtin_prefetch(&worker, 1);
  // Tables may be empty, and who has no input may stand behind the last one.
  const Connection* const in = connections_.data() + worker.first_in;
  if (depth == 1) {
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(worker.ins, kNearSlots); ++i)
      __builtin_prefetch(in + i, 1);
    if (worker.outs == 1) __builtin_prefetch(&connections_[worker.first_out], 1);
    if (worker.outs > 1) __builtin_prefetch(&out_connections_[worker.first_out]);
    return;
  }
  if (worker.outs != 1) {
    if (depth != 2) return;
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(worker.outs, kNearSlots); ++i)
      __builtin_prefetch(&connections_[out_connections_[worker.first_out + i]], 1);
    return;
  }
  const Connection& out = connections_[worker.first_out];
  if (depth == 2) {
    __builtin_prefetch(&hops_[out.path]);
    __builtin_prefetch(&workers_[out.to], 1);
    __builtin_prefetch(far_slots_.data() + out.far_slots, 1);
    if (worker.ins > 0) __builtin_prefetch(far_slots_.data() + in->far_slots, 1);
    return;
  }
  const std::uint32_t begin = out.path + 1, end = begin + hops_[out.path];
  for (std::uint32_t hop = begin; hop != end; ++hop)
    __builtin_prefetch(&transit_.links[hops_[hop] & kLinkBits], 1);
  const Worker& to = workers_[out.to];
  if (to.outs == 1) __builtin_prefetch(&connections_[to.first_out], 1);
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
  const auto soon = [this](std::uint32_t actor, unsigned depth) __attribute__((always_inline)) {
    prefetch(actor, depth);
  };
  const Event event = is_large_ ? queue_.pop(soon) : queue_.pop();
  alone_ = queue_.round_ended() && pieces_.empty() && posts_.empty();
  mix_digest(digest_, (static_cast<std::uint64_t>(event.at.ps) << 20) ^ event.actor);
  if (event.actor >= workers_.size()) {
    act_other(event.actor);
  } else {
    act(event.actor, event.at);
    if (++events_ % events_per_pause == 0) pause(progress);
  }
  if (queue_.round_ended() && !(pieces_.empty() && posts_.empty())) settle();
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

/// Who waits for what, "" when all is done. A relay is done when its input is empty.
template <class Stamp>
std::string Executor<Stamp>::stuck() {
  std::string out;
  int named = 0;
  for (std::uint32_t id = 0; id < workers_.size() && named < 8; ++id) {
    const Worker& worker = workers_[id];
    if (worker.done) continue;
    if (worker.relay && connections_[worker.first_in].in_flight == 0) continue;
    out += "worker " + std::to_string(id) + " (lane " + std::to_string(worker.role.lane) +
           ", position " + std::to_string(worker.role.position) + ") waits for";
    all_inputs<false>(worker, [&](const Connection& input) {
      if (input.full == 0) out += " a slice of worker " + std::to_string(input.from);
      return true;
    });
    all_outputs<false>(worker, [&](const Connection& output) {
      if (output.in_flight == output.slots) out += " a slot of worker " + std::to_string(output.to);
      return true;
    });
    out += "; ";
    ++named;
  }
  return out;
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
  return workers_.capacity() * sizeof(Worker) + connections_.capacity() * sizeof(Connection) +
         legs_.capacity() * sizeof(Leg) + flights_.capacity() * sizeof(Flight) +
         first_leg_.capacity() * sizeof(std::uint32_t) + far_slots_.capacity() * sizeof(Stamp) +
         slot_payload_.capacity() * sizeof(std::int64_t) + transit_.links.memory_bytes() +
         connections_.capacity() * sizeof(std::uint32_t) +
         (hops_.capacity() + out_connections_.capacity()) * sizeof(std::uint32_t);
}

template class Executor<PlainStamp>;
template class Executor<CausalStamp>;

}  // namespace fabricast
