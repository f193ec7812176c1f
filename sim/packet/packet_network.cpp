#include "sim/packet/packet_network.hpp"

#include <algorithm>
#include <cassert>

#include "sim/links/ecmp.hpp"

namespace fabricast {

PacketNetwork::PacketNetwork(PacketConfig config)
    : config_(std::move(config)),
      losses_(config_.seed),
      marks_(config_.seed + 1),
      lots_(config_.seed + 2) {
  assert(config_.payload.count > 0 && config_.headers.count >= 0 && !config_.lanes.empty());
  assert(config_.flow_control != FlowControl::credits ||
         config_.lane_buffer >= config_.payload + config_.headers);
}

std::uint32_t PacketNetwork::add_switch(std::uint64_t seed) {
  Vertex vertex;
  vertex.seed = seed;
  vertices_.push_back(std::move(vertex));
  return static_cast<std::uint32_t>(vertices_.size() - 1);
}

std::uint32_t PacketNetwork::add_host(Duration receive) {
  const std::uint32_t id = add_switch();
  vertices_[id].host = true;
  vertices_[id].receive = receive;
  vertices_[id].number = static_cast<std::uint32_t>(hosts_.size());
  hosts_.push_back(id);
  return id;
}

std::uint32_t PacketNetwork::add_link(const PacketLinkSpec& spec) {
  assert(!sealed_ && spec.rate.bytes_per_s > 0);
  const auto id = static_cast<std::uint32_t>(links_.size());
  Link link;
  link.spec = spec;
  link.ingress = static_cast<std::uint32_t>(vertices_[spec.to].in.size());
  vertices_[spec.to].in.push_back(id);
  vertices_[spec.from].out.push_back(id);
  links_.push_back(std::move(link));
  return id;
}

std::uint32_t PacketNetwork::add_cable(const PacketLinkSpec& spec, Duration latency_back) {
  const std::uint32_t there = add_link(spec);
  add_link({spec.to, spec.from, spec.rate, latency_back, spec.propagation});
  return there;
}

std::uint32_t PacketNetwork::add_queue_pair(const QueuePairSpec& spec) {
  assert(!sealed_ || config_.arbitration == Arbitration::per_ingress);
  assert(vertices_[spec.from].host && vertices_[spec.to].host);
  Pair pair;
  pair.spec = spec;
  pair.links.assign(spec.links.begin(), spec.links.end());
  pair.spec.links = {};
  pair.lane = spec.lane;
  if (sealed_) settle(pair);
  pairs_.push_back(std::move(pair));
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

void PacketNetwork::set_loss(std::uint32_t link, double probability) {
  links_[link].loss = probability;
}

std::uint32_t PacketNetwork::send(std::uint32_t pair_id, Instant start, Bytes size) {
  assert(start >= now_ && size.count >= 0);
  Pair& pair = pairs_[pair_id];
  const auto id = static_cast<std::uint32_t>(messages_.size());
  Message message;
  message.pair = pair_id;
  message.size = size;
  if (!pair.messages.empty()) {
    message.first = messages_[pair.messages.back()].end();
  }
  const std::int64_t payload = config_.payload.count;
  message.packets =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, (size.count + payload - 1) / payload));
  pair.messages.push_back(id);
  messages_.push_back(message);
  schedule(start, Kind::start, id);
  return id;
}

void PacketNetwork::set_link_up(std::uint32_t link, Instant at, bool up) {
  schedule(at, up ? Kind::link_up : Kind::link_down, link);
}

/// The links that begin a shortest way from every vertex to every host, in order of their ids.
void PacketNetwork::find_ways() {
  has_ways_ = true;
  for (Vertex& vertex : vertices_) vertex.ways.resize(hosts_.size());
  std::vector<std::uint32_t> distance(vertices_.size());
  for (std::size_t number = 0; number < hosts_.size(); ++number) {
    std::fill(distance.begin(), distance.end(), kNone);
    std::vector<std::uint32_t> reached = {hosts_[number]};
    distance[hosts_[number]] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      if (i > 0 && vertices_[reached[i]].host) continue;  // hosts pass nothing on
      for (const std::uint32_t link : vertices_[reached[i]].in) {
        const std::uint32_t from = links_[link].spec.from;
        if (distance[from] != kNone) continue;
        distance[from] = distance[reached[i]] + 1;
        reached.push_back(from);
      }
    }
    for (std::uint32_t link = 0; link < links_.size(); ++link) {
      const auto [from, to] = std::pair(links_[link].spec.from, links_[link].spec.to);
      const bool passes = !vertices_[to].host || to == hosts_[number];
      if (passes && distance[to] != kNone && distance[to] + 1 == distance[from])
        vertices_[from].ways[number].push_back(link);
    }
  }
}

void PacketNetwork::seal() {
  if (sealed_) return;
  sealed_ = true;
  const bool per_flow = config_.arbitration == Arbitration::per_flow;
  const std::size_t lanes = per_flow ? pairs_.size() : config_.lanes.size();
  for (Link& link : links_) {
    link.lanes.resize(lanes);
    const Vertex& from = vertices_[link.spec.from];
    for (Lane& lane : link.lanes) {
      lane.credits = config_.lane_buffer.count;
      if (!from.host) lane.queues.resize(from.in.size());
    }
  }
  for (std::uint32_t id = 0; id < pairs_.size(); ++id) {
    if (per_flow) pairs_[id].lane = id;
    settle(pairs_[id]);
  }
}

/// The first link of a queue pair, and its rate control.
void PacketNetwork::settle(Pair& pair) {
  if (pair.links.empty()) {
    if (!has_ways_) find_ways();
    const Vertex& from = vertices_[pair.spec.from];
    const std::vector<std::uint32_t>& ways = from.ways[vertices_[pair.spec.to].number];
    assert(!ways.empty());
    const FlowKey key{pair.spec.from, pair.spec.to, pair.spec.number};
    pair.egress = ways[ecmp_choice(key, from.seed, static_cast<std::uint32_t>(ways.size()))];
  } else {
    pair.egress = pair.links.front();
  }
  if (pair.spec.dcqcn) pair.control.emplace(*pair.spec.dcqcn, links_[pair.egress].spec.rate);
}

void PacketNetwork::dispatch(const Event& event, const OnArrival& on_arrival) {
  ++events_;
  const auto who = (std::uint64_t{event.a} << 8) + static_cast<std::uint64_t>(event.kind);
  digest_ = mixed(digest_ + static_cast<std::uint64_t>(now_.ps) + who);
  switch (event.kind) {
    case Kind::arrive:
      return arrive(event.a);
    case Kind::enqueue:
      return enqueue(event.a, event.b);
    case Kind::free:
      return sent(event);
    case Kind::wake:
      return try_send(event.a);
    case Kind::credit:
      links_[event.a].lanes[event.b].credits += event.value;
      return try_send(event.a);
    case Kind::pause:
    case Kind::resume:
      links_[event.a].lanes[event.b].paused = event.kind == Kind::pause;
      return try_send(event.a);
    case Kind::start:
      return start(event.a);
    case Kind::acknowledge:
      return acknowledge(event.a, static_cast<std::uint64_t>(event.value));
    case Kind::resend:
      return refused(event.a, static_cast<std::uint64_t>(event.value));
    case Kind::notify:
      return notified(event.a);
    case Kind::reduce:
      pairs_[event.a].control->reduce(now_);
      return after_cut(event.a);
    case Kind::increase:
      return increase(event.a);
    case Kind::timeout:
      return time_out(event.a);
    case Kind::link_down:
    case Kind::link_up: {
      const bool up = event.kind == Kind::link_up;
      if (links_[event.a].up != up) links_down_ += up ? -1 : 1;
      links_[event.a].up = up;
      return;
    }
    case Kind::deliver:
      messages_[event.a].arrived = true;
      messages_[event.a].at = now_;
      if (on_arrival) on_arrival(event.a);
      return;
  }
}

void PacketNetwork::run_until(Instant until, const OnArrival& on_arrival) {
  while (step(until, on_arrival)) {
  }
  if (until.ps != INT64_MAX) now_ = later(now_, until);
}

bool PacketNetwork::step(Instant until, const OnArrival& on_arrival) {
  seal();
  if (events_heap_.empty() || events_heap_.earliest() > until) return false;
  now_ = events_heap_.earliest();
  dispatch(events_heap_.pop(), on_arrival);
  return true;
}

void PacketNetwork::run(const OnArrival& on_arrival) { run_until({INT64_MAX}, on_arrival); }

void PacketNetwork::set_rate(std::uint32_t pair, double bytes_per_s) {
  seal();
  assert(pairs_[pair].control);
  pairs_[pair].control->set_rate(bytes_per_s);
  after_cut(pair);
}

double PacketNetwork::rate(std::uint32_t pair) const {
  const Pair& asked = pairs_[pair];
  if (asked.control) return asked.control->rate();
  return static_cast<double>(links_[asked.egress].spec.rate.bytes_per_s);
}

const Dcqcn* PacketNetwork::rate_control(std::uint32_t pair) const {
  return pairs_[pair].control ? &*pairs_[pair].control : nullptr;
}

double PacketNetwork::mean_queue(std::uint32_t link) const {
  const Link& asked = links_[link];
  const Wide whole = asked.queue_time + Wide{asked.queued.count} * (now_ - asked.queue_since).ps;
  return static_cast<double>(whole) / static_cast<double>((now_ - queue_reset_).ps);
}

void PacketNetwork::reset_mean_queue() {
  queue_reset_ = now_;
  for (Link& link : links_) {
    link.queue_time = 0;
    link.queue_since = now_;
  }
}

}  // namespace fabricast
