// The ways of an exchange: which of their links are booked on arrival, and how chunks cross them.

#include <algorithm>
#include <bit>
#include <cassert>

#include "sim/base/error.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

template <class Stamp>
std::uint32_t Exchange<Stamp>::way_kind(const WayKind& way) {
  const auto next = static_cast<std::uint32_t>(way_kinds_.size());
  const auto [known, is_new] = way_kind_numbers_.try_emplace(way, next);
  if (!is_new) return known->second;
  if (next >= 1u << kWayBits)
    throw Error("more than four million kinds of ways between GPUs in one run",
                "ask for fewer nodes, or for those that are alike");
  way_kinds_.push_back(way);
  return known->second;
}

/// Gives the message the way that was asked for last.
template <class Stamp>
void Exchange<Stamp>::lay_way(std::uint32_t id) {
  Message& message = messages_[id];
  message.relayed = way_.relayed;
  message.send_thread = way_.send_thread;
  message.receive_thread = way_.receive_thread;
  std::uint32_t* const hops = &hops_[std::size_t{id} * hops_max_];
  std::copy(way_.far.begin(), way_.far.end(), std::copy(way_.near.begin(), way_.near.end(), hops));
  WayKind kind{{},
               {},
               way_.sender_flag,
               way_.receiver_flag,
               way_.flush,
               static_cast<std::uint8_t>(way_.near.size()),
               static_cast<std::uint8_t>(way_.near.size() + way_.far.size())};
  kind.plain = kind.hops < 64 && std::all_of(hops, hops + kind.hops, [](std::uint32_t hop) {
                 return (hop & ~kLinkBits) == 0;
               });
  if (kind.plain) {
    kind.near_latency = look_along(kind, hops, 0, kind.near_hops);
    kind.far_latency = look_along(kind, hops, kind.near_hops, kind.hops);
  } else {
    kind.near_latency = transit_.latency(way_.near);
    kind.far_latency = transit_.latency(way_.far);
  }
  message.way = way_kind(kind);
}

/// Notes which links from `hop` to `end` of a plain way are booked on arrival, and returns the
/// latency of all. One flight crosses them: the first one is booked at once.
template <class Stamp>
Duration Exchange<Stamp>::look_along(WayKind& way, const std::uint32_t* hops, std::uint32_t hop,
                                     std::uint32_t end) const {
  Duration sum;
  for (const std::uint32_t first = hop; hop != end; ++hop) {
    sum += transit_.links.latency(hops[hop]);
    if (hop != first && joins_[hops[hop]]) way.joins |= std::uint64_t{1} << hop;
  }
  return sum;
}

/// A chunk that sets out, but when.
template <class Stamp>
typename Exchange<Stamp>::Flight Exchange<Stamp>::flight_of(std::uint32_t id, Bytes wire,
                                                            bool far) const {
  const std::uint32_t kind = messages_[id].way;
  const WayKind& way = way_kinds_[kind];
  Flight flight;
  flight.wire = wire;
  flight.message = id;
  flight.way = kind & ((1u << kWayBits) - 1);
  flight.far = far;
  if (!far) return flight;
  flight.hop = way.near_hops;
  bring(flight, way, &hops_[std::size_t{id} * hops_max_] + flight.hop);
  return flight;
}

/// The flight has the links that it has yet to cross with it, if its way is plain and they are not
/// too many: `hops`.
template <class Stamp>
void Exchange<Stamp>::bring(Flight& flight, const WayKind& way, const std::uint32_t* hops) const {
  const std::uint32_t left = links_left(flight, way);
  flight.brings = way.plain && left <= kLinksAhead;
  if (flight.brings) std::copy(hops, hops + left, flight.ahead.begin());
}

/// Books links up to the next joint, or to the end of the way. `block`: who sends.
template <class Stamp>
void Exchange<Stamp>::travel(std::uint32_t block, Flight& flight) {
  const WayKind& way = way_kinds_[flight.way];
  bool is_plain = way.plain;
  if constexpr (Stamp::kCausal) is_plain = is_plain && transit_.carrier == nullptr;
  if (!(is_plain ? travel_plainly(block, flight, way) : travel_in_steps(block, flight, way)))
    return;
  if (messages_[flight.message].relayed && !flight.far) {
    arrive_near(flight.message, flight.last);
  } else {
    arrive(flight.message, flight.last);
  }
}

/// One link after another. Whether it has come to the end.
template <class Stamp>
bool Exchange<Stamp>::travel_plainly(std::uint32_t block, Flight& flight, const WayKind& way) {
  const std::uint32_t end = flight.far ? way.hops : way.near_hops;
  if (flight.hop == end) return true;
  const std::uint64_t joins = way.joins >> 1 >> flight.hop;
  const auto behind = static_cast<std::uint32_t>(std::countr_zero(joins));
  const std::uint32_t stop = joins == 0 ? end : std::min(end, flight.hop + 1 + behind);
  const std::uint32_t* hops = flight.brings
                                  ? flight.ahead.data()
                                  : &hops_[std::size_t{flight.message} * hops_max_] + flight.hop;
  // Apart from the flight, so that they stay in registers.
  Stamp first = flight.first, last = flight.last;
  const Bytes wire = flight.wire;
  for (std::uint32_t hop = flight.hop; hop != stop; ++hop) {
    const std::uint32_t id = *hops++;
    pass(id, flight.message, hop, first, last, wire);
    const Duration latency = transit_.links.latency(id);
    first = first.plus(latency, Cause::latency);
    last = last.plus(latency, Cause::latency);
  }
  flight.hop = stop & 0xff;
  flight.first = first;
  flight.last = last;
  if (stop == end) return true;
  bring(flight, way, hops);
  wait_on_way(block, flight, flight.first);
  return false;
}

/// Steps may be several links wide, and a carrier may take over.
template <class Stamp>
bool Exchange<Stamp>::travel_in_steps(std::uint32_t block, Flight& flight, const WayKind& way) {
  const std::uint32_t end = flight.far ? way.hops : way.near_hops;
  const std::uint32_t* const hops = &hops_[std::size_t{flight.message} * hops_max_];
  for (const std::uint32_t start = flight.hop; flight.hop != end;) {
    const std::uint32_t next = step_end(hops, flight.hop, end);
    if constexpr (Stamp::kCausal) {
      if (transit_.carrier != nullptr && flight.hop == start && hand_over(block, flight, hops, end))
        return false;
    }
    if (flight.hop != start && transit_.joins_at(joins_, hops, flight.hop, next)) {
      wait_on_way(block, flight, flight.first);
      return false;
    }
    const Stamp first = flight.first, last = flight.last;
    for (; flight.hop != next; ++flight.hop) {
      const std::uint32_t id = hops[flight.hop] & kLinkBits;
      Stamp one_first = first, one_last = last;
      pass(id, flight.message, flight.hop, one_first, one_last,
           piece_of(hops[flight.hop], flight.wire));
      const Duration latency = transit_.links.latency(id);
      flight.first = later(flight.first, one_first.plus(latency, Cause::latency));
      flight.last = later(flight.last, one_last.plus(latency, Cause::latency));
    }
  }
  return true;
}

/// It goes on by an event of its own.
template <class Stamp>
void Exchange<Stamp>::wait_on_way(std::uint32_t block, const Flight& flight, Stamp at) {
  const std::uint32_t number = flights_.take(block);
  flights_[number] = aloft_.put(flight);
  schedule(number, Part::flight, at);
}

/// A link carries a chunk; if it is down, later, and what follows in the message after it.
template <class Stamp>
void Exchange<Stamp>::pass(std::uint32_t id, std::uint32_t message, std::uint32_t hop, Stamp& first,
                           Stamp& last, Bytes wire) {
  Stamp* behind = nullptr;
  if (transit_.is_lossy()) behind = &passed_[std::size_t{message} * hops_max_ + hop];
  transit_.pass(id, first, last, wire, behind);
}

/// Leaves the links that the carrier takes from here on to it, if it takes any.
template <class Stamp>
bool Exchange<Stamp>::hand_over(std::uint32_t block, Flight& flight, const std::uint32_t* hops,
                                std::uint32_t end) {
  const std::uint32_t begin = flight.hop;
  while (flight.hop != end && transit_.is_carried(hops[flight.hop])) ++flight.hop;
  if (flight.hop == begin) return false;
  Carrier& carrier = *transit_.carrier;
  Remains& rest = remains_[flight.message];
  if (rest.carried == kNone || rest.carried_from != begin) {
    const auto [way, is_new] = carried_ways_.try_emplace(
        {block, rest.to, schedule_.connection(block, rest.tag), begin}, 0);
    if (is_new) way->second = carrier.add_way({hops + begin, std::size_t{flight.hop} - begin});
    rest.carried = way->second;
    rest.carried_from = begin;
  }
  carriage_.put(rest.carried, flight);
  transit_.hand_over(rest.carried, std::max(queue_.now(), carrier.now()), flight.wire);
  return true;
}

template <class Stamp>
void Exchange<Stamp>::arrived(std::uint32_t way, Instant at) {
  Flight flight = carriage_.take(way);
  set_arrived(flight, transit_.carrier->latency(way), at);
  travel(messages_[flight.message].from, flight);
}

template <class Stamp>
void Exchange<Stamp>::act_flight(std::uint32_t number) {
  Flight flight = aloft_.take(flights_[number]);
  flights_.give_back(number);
  travel(number % static_cast<std::uint32_t>(blocks_.size()), flight);
}

// All of them, as the class is instantiated where it does not see them.
template std::uint32_t Exchange<PlainStamp>::way_kind(const WayKind&);
template void Exchange<PlainStamp>::lay_way(std::uint32_t);
template Duration Exchange<PlainStamp>::look_along(WayKind&, const std::uint32_t*, std::uint32_t,
                                                   std::uint32_t) const;
template auto Exchange<PlainStamp>::flight_of(std::uint32_t, Bytes, bool) const -> Flight;
template void Exchange<PlainStamp>::bring(Flight&, const WayKind&, const std::uint32_t*) const;
template void Exchange<PlainStamp>::travel(std::uint32_t, Flight&);
template bool Exchange<PlainStamp>::travel_plainly(std::uint32_t, Flight&, const WayKind&);
template bool Exchange<PlainStamp>::travel_in_steps(std::uint32_t, Flight&, const WayKind&);
template void Exchange<PlainStamp>::wait_on_way(std::uint32_t, const Flight&, PlainStamp);
template void Exchange<PlainStamp>::pass(std::uint32_t, std::uint32_t, std::uint32_t, PlainStamp&,
                                         PlainStamp&, Bytes);
template bool Exchange<PlainStamp>::hand_over(std::uint32_t, Flight&, const std::uint32_t*,
                                              std::uint32_t);
template void Exchange<PlainStamp>::arrived(std::uint32_t, Instant);
template void Exchange<PlainStamp>::act_flight(std::uint32_t);
template std::uint32_t Exchange<CausalStamp>::way_kind(const WayKind&);
template void Exchange<CausalStamp>::lay_way(std::uint32_t);
template Duration Exchange<CausalStamp>::look_along(WayKind&, const std::uint32_t*, std::uint32_t,
                                                    std::uint32_t) const;
template auto Exchange<CausalStamp>::flight_of(std::uint32_t, Bytes, bool) const -> Flight;
template void Exchange<CausalStamp>::bring(Flight&, const WayKind&, const std::uint32_t*) const;
template void Exchange<CausalStamp>::travel(std::uint32_t, Flight&);
template bool Exchange<CausalStamp>::travel_plainly(std::uint32_t, Flight&, const WayKind&);
template bool Exchange<CausalStamp>::travel_in_steps(std::uint32_t, Flight&, const WayKind&);
template void Exchange<CausalStamp>::wait_on_way(std::uint32_t, const Flight&, CausalStamp);
template void Exchange<CausalStamp>::pass(std::uint32_t, std::uint32_t, std::uint32_t, CausalStamp&,
                                          CausalStamp&, Bytes);
template bool Exchange<CausalStamp>::hand_over(std::uint32_t, Flight&, const std::uint32_t*,
                                               std::uint32_t);
template void Exchange<CausalStamp>::arrived(std::uint32_t, Instant);
template void Exchange<CausalStamp>::act_flight(std::uint32_t);

}  // namespace fabricast
