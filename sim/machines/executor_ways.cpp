// How slices go their way: over links, from leg to leg, to the receiver.

#include <algorithm>

#include "sim/machines/executor_access.hpp"

namespace fabricast {

/// Frees the slot that has been in use longest; the receiver has drained it before.
template <class Stamp>
void Executor<Stamp>::release(Connection& connection, Stamp at) {
  std::uint32_t oldest = std::uint32_t{connection.next_fill} + connection.slots;
  oldest -= connection.in_flight;
  slot(connection, oldest < connection.slots ? oldest : oldest - connection.slots) = at;
  --connection.in_flight;
  came(connection.sender_waits, connection.from, at);
}

/// On its links from `hop` on, up to the leg that is next. What it is, callers say themselves: as
/// arguments it costs 2 to 4 % of NVLSTree's time on 128 nodes.
template <class Stamp>
auto Executor<Stamp>::add_piece(const Connection& connection, std::uint32_t hop,
                                std::uint32_t hop_end, std::uint32_t next_leg) -> Piece& {
  Piece& piece = pieces_.emplace_back();
  piece.connection = id_of(connection);
  piece.hop = hop;
  piece.hop_end = hop_end;
  piece.next_leg = next_leg;
  piece.copies = connection_kinds_[connection.kind].copies;
  piece.wide = connection.wide;
  return piece;
}

/// The next slice of a connection sets out. `alone`: nobody else acts in this round; what shares
/// links waits for the round's end otherwise.
template <class Stamp>
void Executor<Stamp>::send(Connection& connection, std::uint32_t slot, Stamp first, Stamp last,
                           Bytes wire, bool alone) {
  const std::uint32_t begin = connection.path + 1;
  const std::uint32_t end = begin + hops_[connection.path - kFirstCut];
  const std::uint32_t leg = connection.first_leg;
  if (connection.shares && begin != end &&
      (!alone || connection.wide || connection_kinds_[connection.kind].copies > 1)) {
    Piece& piece = add_piece(connection, begin, end, leg);
    piece.first = first;
    piece.last = last;
    piece.wire = wire;
    piece.slot = static_cast<std::uint8_t>(slot);
    return;
  }
  last = carry(connection, begin, end, first, last, wire);
  if (leg != kNobody) return enqueue(leg, first, last, wire, slot);
  arrive(connection, slot, first, last, wire);
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
  enqueue(piece.next_leg, piece.first, piece.last, piece.wire, piece.slot);
}

template <class Stamp>
void Executor<Stamp>::arrive(Connection& connection, std::uint32_t slot_number, const Stamp& first,
                             Stamp last, Bytes wire) {
  const ConnectionKind& kind = connection_kinds_[connection.kind];
  if (is_watched()) observer_->arrives(id_of(connection), slot_number, {last.ps});
  const Stamp full = seen(kind, first, last, wire);
  slot(connection, slot_number) = full;
  ++connection.full;
  came(connection.receiver_waits, connection.to, full);
  if (connection.from_relay) acknowledge(connection, last);
}

/// What a relay has sent over the connection is there at `at`: its own input's slot is free again.
template <class Stamp>
void Executor<Stamp>::acknowledge(const Connection& connection, Stamp at) {
  const Duration ack = connection_kinds_[connection.kind].ack;
  Connection& input = connections_[workers_[connection.from].first_in];
  release(input, at.plus(ack + connection_kinds_[input.kind].credit, Cause::slots));
}

template <class Stamp>
void Executor<Stamp>::enqueue(std::uint32_t id, Stamp first, Stamp last, Bytes wire,
                              std::uint32_t slot) {
  if (free_flight_ == kNoFlight) {
    free_flight_ = static_cast<std::uint32_t>(flights_.size());
    flights_.push_back({{}, {}, {}, 0, kNoFlight});
  }
  const std::uint32_t at = free_flight_;
  free_flight_ = flights_[at].next;
  __builtin_prefetch(flights_.data() + free_flight_, 1);  // or beside them: nothing is there then
  Flight& flight = flights_[at];
  flight.first = first;
  flight.last = last;
  flight.wire = wire;
  flight.slot = slot;
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
    Piece& piece = add_piece(connection, leg.hop, leg.hop_end, next_leg);
    piece.first = flight.first;
    piece.last = flight.last;
    piece.wire = flight.wire;
    piece.slot = static_cast<std::uint8_t>(flight.slot);
    return;
  }
  flight.last = carry(connection, leg.hop, leg.hop_end, flight.first, flight.last, flight.wire);
  if (next_leg != kNobody)
    return enqueue(next_leg, flight.first, flight.last, flight.wire, flight.slot);
  arrive(connection, flight.slot, flight.first, flight.last, flight.wire);
}

template <class Stamp>
void Executor<Stamp>::arrived(std::uint32_t way, Instant at) {
  if (way >= leg_of_way_.size() || leg_of_way_[way] == kNobody) return guest_->arrived(way, at);
  Flight flight = carriage_.take(way);
  set_arrived(flight, transit_.carrier->latency(way), at);
  const std::uint32_t id = leg_of_way_[way];
  if (!legs_[id].last) return enqueue(id + 1, flight.first, flight.last, flight.wire, flight.slot);
  arrive(connections_[legs_[id].connection], flight.slot, flight.first, flight.last, flight.wire);
}

template void Executor<PlainStamp>::send(Connection&, std::uint32_t, PlainStamp, PlainStamp, Bytes,
                                         bool);
template void Executor<PlainStamp>::cross(Piece&);
template void Executor<PlainStamp>::finish(const Piece&);
template void Executor<PlainStamp>::arm_leg(std::uint32_t);
template void Executor<PlainStamp>::act_leg(std::uint32_t);
template void Executor<PlainStamp>::arrived(std::uint32_t, Instant);
template void Executor<CausalStamp>::send(Connection&, std::uint32_t, CausalStamp, CausalStamp,
                                          Bytes, bool);
template void Executor<CausalStamp>::cross(Piece&);
template void Executor<CausalStamp>::finish(const Piece&);
template void Executor<CausalStamp>::arm_leg(std::uint32_t);
template void Executor<CausalStamp>::act_leg(std::uint32_t);
template void Executor<CausalStamp>::arrived(std::uint32_t, Instant);
template void Executor<PlainStamp>::release(Connection&, PlainStamp);
template void Executor<PlainStamp>::acknowledge(const Connection&, PlainStamp);
template auto Executor<PlainStamp>::add_piece(const Connection&, std::uint32_t, std::uint32_t,
                                              std::uint32_t) -> Piece&;
template PlainStamp Executor<PlainStamp>::carry(const Connection&, std::uint32_t, std::uint32_t,
                                                PlainStamp&, PlainStamp, Bytes);
template PlainStamp Executor<PlainStamp>::carry_wide(std::uint32_t, std::uint32_t, PlainStamp&,
                                                     PlainStamp, Bytes);
template void Executor<PlainStamp>::arrive(Connection&, std::uint32_t, const PlainStamp&,
                                           PlainStamp, Bytes);
template void Executor<PlainStamp>::enqueue(std::uint32_t, PlainStamp, PlainStamp, Bytes,
                                            std::uint32_t);
template void Executor<CausalStamp>::release(Connection&, CausalStamp);
template void Executor<CausalStamp>::acknowledge(const Connection&, CausalStamp);
template auto Executor<CausalStamp>::add_piece(const Connection&, std::uint32_t, std::uint32_t,
                                               std::uint32_t) -> Piece&;
template CausalStamp Executor<CausalStamp>::carry(const Connection&, std::uint32_t, std::uint32_t,
                                                  CausalStamp&, CausalStamp, Bytes);
template CausalStamp Executor<CausalStamp>::carry_wide(std::uint32_t, std::uint32_t, CausalStamp&,
                                                       CausalStamp, Bytes);
template void Executor<CausalStamp>::arrive(Connection&, std::uint32_t, const CausalStamp&,
                                            CausalStamp, Bytes);
template void Executor<CausalStamp>::enqueue(std::uint32_t, CausalStamp, CausalStamp, Bytes,
                                             std::uint32_t);

}  // namespace fabricast
