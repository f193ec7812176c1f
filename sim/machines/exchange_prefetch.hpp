#pragma once
// What an exchange asks the memory for before it needs it: an all-to-all on many nodes waits for
// little else. Included by exchange.cpp alone: all of it is inlined there.

#include "sim/machines/exchange.hpp"

namespace fabricast {

template <class Stamp>
void Exchange<Stamp>::prefetch_message(std::uint32_t id) const {
  const Message& message = messages_[id];
  __builtin_prefetch(&message, 1);
  __builtin_prefetch(&message.slots, 1);
}

template <class Stamp>
void Exchange<Stamp>::prefetch_hops(std::uint32_t id) const {
  __builtin_prefetch(hops_.data() + std::size_t{id} * hops_max_);
}

/// Asks for what a message is made of that is opened soon.
template <class Stamp>
void Exchange<Stamp>::prefetch_free(std::uint32_t id) const {
  prefetch_message(id);
  prefetch_hops(id);
  __builtin_prefetch(&remains_[id], 1);
}

/// For a chunk that the sender puts into its slot.
template <class Stamp>
void Exchange<Stamp>::prefetch_departure(std::uint32_t id) const {
  const std::uint32_t* const hops = hops_.data() + std::size_t{id} * hops_max_;
  const Message& message = messages_[id];
  __builtin_prefetch(&blocks_[message.from], 1);
  for (std::uint32_t i = 0; i < way_kinds_[message.way].near_hops; ++i)
    __builtin_prefetch(&transit_.links[hops[i] & kLinkBits], 1);
}

/// For a chunk that arrives.
template <class Stamp>
void Exchange<Stamp>::prefetch_arrival(std::uint32_t id) const {
  const Message& message = messages_[id];
  __builtin_prefetch(&blocks_[message.from], 1);
  __builtin_prefetch(&blocks_[receiver_of(message)], 1);
}

/// For a batch that ends.
template <class Stamp>
void Exchange<Stamp>::prefetch_block(std::uint32_t number, unsigned depth) const {
  if (depth == 0) return __builtin_prefetch(&blocks_[number], 1);
  if (depth > 1) return;
  const BlockLanes& lanes = block_lanes_[number];
  __builtin_prefetch(&lanes.gated, 1);
  sends_.prefetch_next(number);
  receives_.prefetch_next(number);
  for (std::size_t i = 0; i < kLanesMax; i += 2) __builtin_prefetch(&lanes.watched[i], 1);
  __builtin_prefetch(blocks_[number].awaited.data(), 1);
}

template <class Stamp>
void Exchange<Stamp>::prefetch_links(const Flight& flight) const {
  const std::uint32_t left = links_left(flight, way_kinds_[flight.way]);
  if (!flight.brings) return prefetch_hops(flight.message);
  for (std::uint32_t i = 0; i < left; ++i) __builtin_prefetch(&transit_.links[flight.ahead[i]], 1);
}

/// Asks for what an actor needs that acts soon: where to find its message or chunk, then that, then
/// what that names. An all-to-all waits for little else. Alone: actors count from 0.
template <class Stamp>
void Exchange<Stamp>::prefetch(std::uint32_t actor, unsigned depth) const {
  const auto blocks = static_cast<std::uint32_t>(blocks_.size());
  if (actor < blocks) return prefetch_block(actor, depth);
  if (actor < first_part_) return prefetch_job(threads_[actor - blocks], depth);
  const std::uint32_t number = (actor - first_part_) / kParts;
  const auto part = static_cast<Part>((actor - first_part_) % kParts);
  if (part == Part::flight) {
    if (depth == 0) return __builtin_prefetch(&flights_[number]);
    return prefetch_flight(flights_[number], depth);
  }
  const auto& messages = part == Part::poster ? receives_ : sends_;
  if (depth == 0) return __builtin_prefetch(&messages[number]);
  if (depth == 3) return;
  const std::uint32_t id = messages[number];
  if (depth == 1) {
    if (part == Part::sender) prefetch_hops(id);
    return prefetch_message(id);
  }
  if (part == Part::sender) return prefetch_departure(id);
  const Message& message = messages_[id];
  const std::uint32_t thread = part == Part::relay ? message.send_thread : message.receive_thread;
  __builtin_prefetch(&threads_[thread].jobs, 1);
}

/// `place`: as in flights_.
template <class Stamp>
void Exchange<Stamp>::prefetch_flight(std::uint32_t place, unsigned depth) const {
  const Flight& flight = aloft_.records[place];
  if (depth == 1) return __builtin_prefetch(&flight, 1);
  if (depth == 3) return prefetch_arrival(flight.message);
  prefetch_links(flight);
  prefetch_message(flight.message);
}

/// For a thread that is done with a job soon, and begins with the next one.
template <class Stamp>
void Exchange<Stamp>::prefetch_job(const Thread& thread, unsigned depth) const {
  if (depth > 2) return;
  if (depth == 0) {
    __builtin_prefetch(&thread);
    return __builtin_prefetch(&thread.flight);
  }
  if (depth == 1 && thread.departs) {
    flights_.prefetch_next(thread.from);
    prefetch_links(thread.flight);
  }
  if (thread.jobs.size() < 2) return;
  const std::uint32_t& next = thread.jobs[1];
  if (depth == 1) return __builtin_prefetch(&next);
  prefetch_message(next / 2);
  if (next % 2 != 0) prefetch_hops(next / 2);
}

}  // namespace fabricast
