// What happens to packets between hosts: ways, queues, turns, credits, pauses, marks.

#include <algorithm>
#include <cassert>

#include "sim/links/ecmp.hpp"
#include "sim/packet/lossless.hpp"
#include "sim/packet/packet_network.hpp"

namespace fabricast {

std::uint32_t PacketNetwork::take_packet() {
  if (free_packets_.empty()) {
    packets_.emplace_back();
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }
  const std::uint32_t id = free_packets_.back();
  free_packets_.pop_back();
  packets_[id] = {};
  return id;
}

void PacketNetwork::arrive(std::uint32_t id) {
  Packet& packet = packets_[id];
  Link& in = links_[packet.link];
  if (vertices_[in.spec.to].host) return receive(id);
  if (config_.flow_control != FlowControl::credits && !admit(in, packet)) {
    free_packets_.push_back(id);
    return;
  }
  const std::uint32_t out = choose(packet, vertices_[in.spec.to]);
  const Bytes wire{packet.wire};
  // Onto a faster link it starts late enough not to run dry.
  const Duration wait =
      transfer_time(wire, in.spec.rate) - transfer_time(wire, links_[out].spec.rate);
  if (wait.ps > 0) return schedule(now_ + wait, Kind::enqueue, id, out);
  enqueue(id, out);
}

const std::vector<std::uint32_t>& PacketNetwork::live(const std::vector<std::uint32_t>& ways) {
  if (links_down_ == 0) return ways;
  live_.clear();
  for (const std::uint32_t link : ways)
    if (links_[link].up) live_.push_back(link);
  return live_.empty() ? ways : live_;
}

std::uint32_t PacketNetwork::choose(const Packet& packet, const Vertex& vertex) {
  const Pair& pair = pairs_[packet.pair];
  if (!pair.links.empty()) return pair.links[packet.hop];
  const auto& ways = live(vertex.ways[vertices_[pair.spec.to].number]);
  const auto choices = static_cast<std::uint32_t>(ways.size());
  if (choices == 1) return ways.front();
  switch (config_.spread) {
    case Spread::ecmp:
      return ways[ecmp_choice({pair.spec.from, pair.spec.to, pair.spec.number}, vertex.seed,
                              choices)];
    case Spread::adaptive:
      return least_loaded(ways);
    case Spread::spray:
      return ways[lots_.below(choices)];
  }
  return ways.front();
}

/// By lot among those within one packet of the shortest queue.
std::uint32_t PacketNetwork::least_loaded(const std::vector<std::uint32_t>& ways) {
  Bytes least = links_[ways.front()].queued;
  for (const std::uint32_t link : ways) least = std::min(least, links_[link].queued);
  const Bytes enough = least + config_.payload + config_.headers;
  std::uint32_t good = 0;
  for (const std::uint32_t link : ways) good += links_[link].queued < enough ? 1 : 0;
  std::uint32_t lot = lots_.below(good);
  for (const std::uint32_t link : ways)
    if (links_[link].queued < enough && lot-- == 0) return link;
  return ways.front();
}

void PacketNetwork::set_queued(Link& link, std::int64_t change) {
  link.queue_time += Wide{link.queued.count} * (now_ - link.queue_since).ps;
  link.queue_since = now_;
  link.queued.count += change;
  link.counts.queue_max = std::max(link.counts.queue_max, link.queued);
}

/// `turn` of the lane has something to send: a queue, or a queue pair of a host.
void PacketNetwork::list(Link& link, std::uint32_t number, std::uint32_t turn) {
  Lane& lane = link.lanes[number];
  lane.turns.push_back(turn);
  if (lane.listed) return;
  lane.listed = true;
  lane.served = std::max(lane.served, link.served);
  link.busy.push_back(number);
}

void PacketNetwork::enqueue(std::uint32_t id, std::uint32_t link_id) {
  Link& link = links_[link_id];
  Packet& packet = packets_[id];
  Lane& lane = link.lanes[packet.lane];
  const std::uint32_t turn = links_[packet.link].ingress;
  Queue& queue = lane.queues[turn];
  packet.next = kNone;
  if (queue.head == kNone) {
    queue.head = id;
  } else {
    packets_[queue.tail].next = id;
  }
  queue.tail = id;
  lane.queued += Bytes{packet.wire};
  set_queued(link, packet.wire);
  if (!queue.listed) {
    queue.listed = true;
    list(link, packet.lane, turn);
  }
  try_send(link_id);
}

bool PacketNetwork::should_mark(const Lane& lane) {
  const MarkingSpec& marking = config_.marking;
  if (marking.to.count == 0 || lane.queued <= marking.from) return false;
  if (lane.queued > marking.to) return true;
  const double share = static_cast<double>((lane.queued - marking.from).count) /
                       static_cast<double>((marking.to - marking.from).count);
  return marks_.unit() < share * marking.most;
}

/// The place in lane.turns of who sends next; nothing when the lane may not send now.
std::optional<std::size_t> PacketNetwork::next_turn(Link& link, Lane& lane) {
  if (lane.paused) return std::nullopt;
  const bool credits = config_.flow_control == FlowControl::credits;
  const auto affordable = [&](std::int64_t wire) { return !credits || wire <= lane.credits; };
  if (!vertices_[link.spec.from].host) {
    const std::uint32_t head = lane.queues[lane.turns.front()].head;
    if (!affordable(packets_[head].wire)) return std::nullopt;
    return 0;
  }
  for (std::size_t i = 0; i < lane.turns.size();) {
    Pair& pair = pairs_[lane.turns[i]];
    if (exhausted(pair)) {
      pair.listed = false;
      lane.turns.erase(lane.turns.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const bool allowed = may_send(pair) && affordable((next_payload(pair) + config_.headers).count);
    if (allowed && pair.not_before <= now_) return i;
    if (allowed && (link.wake <= now_ || pair.not_before < link.wake)) {
      link.wake = pair.not_before;
      schedule(link.wake, Kind::wake, pair.egress);
    }
    ++i;
  }
  return std::nullopt;
}

/// Takes the packet whose turn it is out of its queue, or makes it, and puts its source last.
std::uint32_t PacketNetwork::take_turn(std::uint32_t link_id, std::uint32_t number,
                                       std::size_t turn) {
  Link& link = links_[link_id];
  Lane& lane = link.lanes[number];
  const std::uint32_t source = lane.turns[turn];
  lane.turns.erase(lane.turns.begin() + static_cast<std::ptrdiff_t>(turn));
  if (vertices_[link.spec.from].host) {
    lane.turns.push_back(source);
    return make_packet(source, link_id);
  }
  Queue& queue = lane.queues[source];
  const std::uint32_t id = queue.head;
  queue.head = packets_[id].next;
  queue.listed = queue.head != kNone;
  if (queue.listed) lane.turns.push_back(source);
  if (!packets_[id].marked && should_mark(lane)) {
    packets_[id].marked = true;
    ++link.counts.marked;
  }
  return id;
}

void PacketNetwork::try_send(std::uint32_t link_id) {
  Link& link = links_[link_id];
  if (now_ < link.free || link.busy.empty()) return;
  const bool per_flow = config_.arbitration == Arbitration::per_flow;
  std::uint32_t best = kNone;
  std::size_t best_turn = 0;
  const auto spec_of = [&](std::uint32_t number) {
    return per_flow ? PacketConfig::Lane{} : config_.lanes[number];
  };
  for (std::size_t i = 0; i < link.busy.size();) {
    const std::uint32_t number = link.busy[i];
    Lane& lane = link.lanes[number];
    const std::optional<std::size_t> turn = next_turn(link, lane);
    if (lane.turns.empty()) {
      lane.listed = false;
      link.busy[i] = link.busy.back();
      link.busy.pop_back();
      continue;
    }
    ++i;
    if (!turn) continue;
    if (best != kNone) {
      const auto mine = spec_of(number).priority, other = spec_of(best).priority;
      const Lane& rival = link.lanes[best];
      if (mine < other) continue;
      if (mine == other && std::pair(rival.served, best) < std::pair(lane.served, number)) continue;
    }
    best = number;
    best_turn = *turn;
  }
  if (best == kNone) return;
  const std::uint32_t packet = take_turn(link_id, best, best_turn);
  Lane& lane = link.lanes[best];
  link.served = lane.served;
  lane.served += std::int64_t{packets_[packet].wire} * 1'024 / spec_of(best).weight;
  if (lane.turns.empty()) {
    lane.listed = false;
    std::erase(link.busy, best);
  }
  transmit(link_id, packet);
}

void PacketNetwork::transmit(std::uint32_t link_id, std::uint32_t id) {
  Link& link = links_[link_id];
  Packet& packet = packets_[id];
  const Duration busy = transfer_time({packet.wire}, link.spec.rate);
  link.free = now_ + busy;
  ++packets_sent_;
  ++link.counts.packets;
  link.counts.carried += Bytes{packet.wire};
  link.lanes[packet.lane].credits -= packet.wire;
  schedule(link.free, Kind::free, link_id, packet.link,
           (std::int64_t{packet.lane} << 32) | packet.wire);
  const Duration way = link.spec.latency + link.spec.propagation;
  packet.link = link_id;
  packet.behind += way;
  ++packet.hop;
  if (!link.up || (link.loss > 0 && losses_.unit() < link.loss)) {
    ++link.counts.lost;
    schedule(link.free + credit_loop(link.spec.propagation, config_.turnaround), Kind::credit,
             link_id, packet.lane, packet.wire);
    free_packets_.push_back(id);
    return;
  }
  const bool whole = vertices_[link.spec.to].host;
  schedule(now_ + way + (whole ? busy : Duration{}), Kind::arrive, id);
}

/// The last byte of a packet has left.
void PacketNetwork::sent(const Event& event) {
  Link& link = links_[event.a];
  const auto wire = static_cast<std::uint32_t>(event.value);
  const auto lane = static_cast<std::uint32_t>(event.value >> 32);
  if (event.b != kNone) {  // not the first link of its way
    link.lanes[lane].queued.count -= wire;
    set_queued(link, -std::int64_t{wire});
    release(event.b, lane, wire);
  }
  try_send(event.a);
}

Bytes PacketNetwork::shared_part(const Lane& lane) const {
  return std::max(Bytes{}, lane.held - config_.pause.reserved);
}

Bytes PacketNetwork::pause_limit(const Vertex& vertex) const {
  const PauseSpec& pause = config_.pause;
  if (pause.ingress_limit.count > 0) return pause.ingress_limit;
  return {std::max<std::int64_t>(0, (pause.shared_buffer - vertex.shared).count) >>
          pause.alpha_shift};
}

/// Into the buffer of the switch it comes to; false = there is no room for it.
bool PacketNetwork::admit(Link& in, const Packet& packet) {
  Vertex& vertex = vertices_[in.spec.to];
  Lane& lane = in.lanes[packet.lane];
  const Bytes before = shared_part(lane);
  lane.held += Bytes{packet.wire};
  const Bytes growth = shared_part(lane) - before;
  if (vertex.shared + growth > config_.pause.shared_buffer) {
    lane.held.count -= packet.wire;
    ++in.counts.dropped;
    return false;
  }
  vertex.shared += growth;
  in.counts.ingress_max = std::max(in.counts.ingress_max, lane.held);
  if (config_.flow_control == FlowControl::pause && !lane.pausing &&
      shared_part(lane) > pause_limit(vertex)) {
    lane.pausing = true;
    if (in.counts.pauses++ == 0) in.counts.first_pause = now_;
    schedule(now_ + in.spec.propagation + config_.pause.response, Kind::pause, packet.link,
             packet.lane);
  }
  return true;
}

/// A packet that came over `link` has left its receiver.
void PacketNetwork::release(std::uint32_t link_id, std::uint32_t number, std::uint32_t wire) {
  Link& link = links_[link_id];
  if (config_.flow_control == FlowControl::credits) {
    return schedule(now_ + link.spec.propagation + config_.turnaround, Kind::credit, link_id,
                    number, wire);
  }
  Vertex& vertex = vertices_[link.spec.to];
  Lane& lane = link.lanes[number];
  const Bytes before = shared_part(lane);
  lane.held.count -= wire;
  vertex.shared.count -= (before - shared_part(lane)).count;
  if (!lane.pausing) return;
  const Bytes low = std::max(Bytes{}, pause_limit(vertex) - config_.pause.resume_below);
  if (shared_part(lane) > low) return;
  lane.pausing = false;
  schedule(now_ + link.spec.propagation + config_.pause.response, Kind::resume, link_id, number);
}

}  // namespace fabricast
