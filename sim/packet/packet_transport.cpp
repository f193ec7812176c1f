// What hosts do: messages into packets, order, acknowledgements, retries, rate control.

#include <algorithm>
#include <cassert>

#include "sim/packet/packet_network.hpp"

namespace fabricast {

void PacketNetwork::start(std::uint32_t id) {
  Pair& pair = pairs_[messages_[id].pair];
  pair.end = std::max(pair.end, messages_[id].end());
  offer(messages_[id].pair);
}

/// Puts the queue pair in the turns of its port, if it has something to send.
void PacketNetwork::offer(std::uint32_t id) {
  Pair& pair = pairs_[id];
  if (exhausted(pair)) return;
  if (pair.control) catch_up(id);
  if (!pair.listed) {
    pair.listed = true;
    list(links_[pair.egress], pair.lane, id);
  }
  try_send(pair.egress);
}

bool PacketNetwork::may_send(const Pair& pair) const {
  if (pair.spec.window.count == 0) return true;
  const auto outstanding = static_cast<std::int64_t>(pair.next - pair.acked);
  return (config_.payload + config_.headers) * (outstanding + 1) <= pair.spec.window;
}

Bytes PacketNetwork::next_payload(const Pair& pair) const {
  const Message& message = messages_[pair.messages[pair.sending]];
  const Bytes sent = config_.payload * static_cast<std::int64_t>(pair.next - message.first);
  return std::min(config_.payload, message.size - sent);
}

std::uint32_t PacketNetwork::make_packet(std::uint32_t pair_id, std::uint32_t link) {
  Pair& pair = pairs_[pair_id];
  const std::uint32_t id = take_packet();
  Packet& packet = packets_[id];
  packet.pair = pair_id;
  packet.number = static_cast<std::uint32_t>(pair.next);
  packet.payload = static_cast<std::uint32_t>(next_payload(pair).count);
  packet.wire = packet.payload + static_cast<std::uint32_t>(config_.headers.count);
  packet.lane = pair.lane;
  if (pair.spec.retry.timeout.ps > 0) arm_timeout(pair_id);
  ++pair.next;
  const Message& message = messages_[pair.messages[pair.sending]];
  if (pair.next == message.end()) ++pair.sending;
  if (pair.control) {
    const Bytes wire{packet.wire};
    const Bandwidth rate{static_cast<std::int64_t>(pair.control->rate())};
    pair.not_before = later(pair.not_before, now_) +
                      (rate < links_[link].spec.rate ? transfer_time(wire, rate) : Duration{});
    pair.control->count(wire);
  }
  return id;
}

/// Whether the packet is new to the receiver. Asks again for what is missing once per gap, and when
/// it sees that the sender has gone back and the gap is still there.
bool PacketNetwork::accept(Pair& pair, const Packet& packet) {
  const std::uint64_t number = packet.number;
  const bool went_back = number <= pair.newest;
  pair.newest = number;
  if (number == pair.expected) {
    ++pair.expected;
    pair.refused = false;
    while (!pair.ahead.empty() && *pair.ahead.begin() == pair.expected) {
      pair.ahead.erase(pair.ahead.begin());
      ++pair.expected;
    }
    return true;
  }
  if (number < pair.expected) return false;
  if (!pair.spec.in_order) return pair.ahead.insert(number).second;
  if (!pair.refused || went_back) {
    pair.refused = true;
    schedule(now_ + packet.behind, Kind::resend, packet.pair, 0,
             static_cast<std::int64_t>(pair.expected));
  }
  return false;
}

void PacketNetwork::complete(Pair& pair) {
  while (pair.receiving < pair.messages.size()) {
    const std::uint32_t id = pair.messages[pair.receiving];
    if (pair.expected < messages_[id].end()) return;
    schedule(now_ + vertices_[pair.spec.to].receive, Kind::deliver, id);
    ++pair.receiving;
  }
}

void PacketNetwork::receive(std::uint32_t id) {
  const Packet packet = packets_[id];
  free_packets_.push_back(id);
  if (config_.flow_control == FlowControl::credits) release(packet.link, packet.lane, packet.wire);
  Pair& pair = pairs_[packet.pair];
  if (pair.failed) return;
  if (packet.marked && pair.control && now_ - pair.notified >= pair.spec.dcqcn->notify_interval) {
    pair.notified = now_;
    schedule(now_ + packet.behind, Kind::notify, packet.pair);
  }
  if (accept(pair, packet)) {
    pair.delivered += Bytes{packet.payload};
    complete(pair);
  }
  const bool needs_answer = pair.spec.window.count > 0 || pair.spec.retry.timeout.ps > 0;
  if (needs_answer) {
    schedule(now_ + packet.behind, Kind::acknowledge, packet.pair, 0,
             static_cast<std::int64_t>(pair.expected));
  }
}

void PacketNetwork::acknowledge(std::uint32_t id, std::uint64_t upto) {
  Pair& pair = pairs_[id];
  if (pair.failed || upto <= pair.acked) return;
  pair.acked = upto;
  pair.tries = 0;
  pair.deadline = now_ + pair.spec.retry.timeout;
  if (pair.next < upto) rewind(id, upto);
  offer(id);
}

/// Sends again from packet `to` on: go-back-N. Also forward, over what arrived after all.
void PacketNetwork::rewind(std::uint32_t id, std::uint64_t to) {
  Pair& pair = pairs_[id];
  if (pair.failed || to < pair.acked) return;
  pair.next = to;
  while (pair.sending > 0 && (pair.sending == pair.messages.size() ||
                              messages_[pair.messages[pair.sending]].first > to))
    --pair.sending;
  while (pair.sending < pair.messages.size() && messages_[pair.messages[pair.sending]].end() <= to)
    ++pair.sending;
  offer(id);
}

void PacketNetwork::arm_timeout(std::uint32_t id) {
  Pair& pair = pairs_[id];
  if (pair.acked == pair.next && pair.tries == 0) pair.deadline = now_ + pair.spec.retry.timeout;
  if (pair.timer) return;
  pair.timer = true;
  schedule(pair.deadline, Kind::timeout, id);
}

/// Counts a try without progress since the last; true when that was one too many.
bool PacketNetwork::give_up(Pair& pair) {
  if (pair.tries++ < pair.spec.retry.retries) return false;
  pair.failed = true;
  pair.deadline = now_;
  return true;
}

/// The receiver has everything before `to` and misses it.
void PacketNetwork::refused(std::uint32_t id, std::uint64_t to) {
  Pair& pair = pairs_[id];
  if (pair.failed || to < pair.acked) return;
  if (to > pair.acked) {
    pair.acked = to;
    pair.tries = 0;
    pair.deadline = now_ + pair.spec.retry.timeout;
  }
  if (give_up(pair)) return;
  if (const Duration most = pair.spec.retry.hesitation; most.ps > 0)
    pair.not_before = later(
        pair.not_before,
        now_ + Duration{static_cast<std::int64_t>(lots_.unit() * static_cast<double>(most.ps))});
  rewind(id, to);
}

void PacketNetwork::time_out(std::uint32_t id) {
  Pair& pair = pairs_[id];
  pair.timer = false;
  if (pair.failed || pair.acked == pair.next) return;
  if (now_ >= pair.deadline) {
    if (give_up(pair)) return;
    pair.deadline = now_ + pair.spec.retry.timeout;
    rewind(id, pair.acked);
    if (pair.timer) return;
  }
  pair.timer = true;
  schedule(pair.deadline, Kind::timeout, id);
}

void PacketNetwork::notified(std::uint32_t id) {
  Dcqcn& control = *pairs_[id].control;
  if (const std::optional<Instant> due = control.notify(now_)) schedule(*due, Kind::reduce, id);
  if (control.last_cut() == now_) after_cut(id);
}

void PacketNetwork::after_cut(std::uint32_t id) {
  Pair& pair = pairs_[id];
  pair.increase_due = now_ + pair.spec.dcqcn->increase_period;
  if (pair.increase_armed) return;
  pair.increase_armed = true;
  schedule(pair.increase_due, Kind::increase, id);
}

/// Nobody looks at the rate of a sender with nothing to send: its timer rests.
void PacketNetwork::increase(std::uint32_t id) {
  Pair& pair = pairs_[id];
  pair.increase_armed = false;
  if (!exhausted(pair)) catch_up(id);
}

/// Makes the increases that are due, and sets the timer for the next.
void PacketNetwork::catch_up(std::uint32_t id) {
  Pair& pair = pairs_[id];
  const Duration period = pair.spec.dcqcn->increase_period;
  for (; !pair.control->at_rest() && pair.increase_due <= now_;
       pair.increase_due = pair.increase_due + period)
    pair.control->increase_by_time();
  if (pair.increase_armed || pair.control->at_rest()) return;
  pair.increase_armed = true;
  schedule(pair.increase_due, Kind::increase, id);
}

}  // namespace fabricast
