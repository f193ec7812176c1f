#include "models/hardware/networks/carriers.hpp"

#include <algorithm>

#include "sim/links/machine.hpp"

namespace fabricast {

FabricCarrier::FabricCarrier(const Cluster& cluster, const NetworkPlan& plan)
    : cluster_(cluster), plan_(plan) {}

std::uint32_t FabricCarrier::add_way(std::span<const std::uint32_t> links) {
  const auto id = static_cast<std::uint32_t>(ways_.size());
  Way& way = ways_.emplace_back();
  Duration step;
  for (const std::uint32_t link : links) {
    if ((link & kBeside) == 0) {
      way.latency += step;
      step = {};
    }
    step = std::max(step, cluster_.link(LinkId{link & kLinkBits}).latency);
  }
  way.latency += step;
  way.first_route = static_cast<std::uint32_t>(routes_.size());
  std::map<std::uint32_t, std::vector<std::uint32_t>> routes;  // by mark
  for (const std::uint32_t link : links)
    routes[link & ~(kBeside | kLinkBits)].push_back(link & kLinkBits);
  for (const auto& [mark, route] : routes) add_route(id, mark, route);
  return id;
}

void FabricCarrier::add_route(std::uint32_t way, std::uint32_t mark,
                              const std::vector<std::uint32_t>& links) {
  ++ways_[way].routes;
  routes_.push_back({mark, static_cast<std::uint32_t>(way_of_pair_.size())});
  std::uint32_t& number = queue_pairs_[{links.front(), links.back()}];
  for (int i = 0; i < plan_.queue_pairs; ++i) {
    way_of_pair_.push_back(way);
    lay(links, number++);
  }
}

std::vector<std::vector<std::uint32_t>> FabricCarrier::routes(
    const std::vector<std::uint32_t>& fabric, std::uint32_t queue_pair) const {
  if (plan_.routing == Routing::by_destination) return {fabric};
  const auto [from_node, from_nic] = cluster_.nic_at(cluster_.link_from(LinkId{fabric.front()}));
  const auto [to_node, to_nic] = cluster_.nic_at(cluster_.link_to(LinkId{fabric.back()}));
  const auto ids = [](const std::vector<LinkId>& links) {
    std::vector<std::uint32_t> out;
    for (const LinkId link : links) out.push_back(index_of(link));
    return out;
  };
  if (plan_.routing == Routing::ecmp)
    return {
        ids(cluster_.hashed_route(from_node, from_nic, to_node, to_nic, queue_pair, plan_.seeds))};
  std::vector<std::vector<std::uint32_t>> out;
  const std::uint32_t ways = cluster_.fabric_ways(from_node, from_nic, to_node, to_nic);
  for (std::uint32_t way = 0; way < ways; ++way)
    out.push_back(ids(cluster_.fabric_way(from_node, from_nic, to_node, to_nic, way)));
  return out;
}

void FabricCarrier::send(std::uint32_t id, Instant at, Bytes wire) {
  Way& way = ways_[id];
  const std::uint64_t number = way.sent++;
  Slice& slice = slices_.push(id, {0, at});
  for (std::uint32_t i = 0; i < way.routes; ++i) {
    const Route& route = routes_[way.first_route + i];
    const Bytes piece = piece_of(route.mark, wire);
    if (piece.count > 0 || way.routes == 1) post_route(route, number, slice, at, piece);
  }
  if (slice.parts > 0) return;
  // Nothing but an empty slice: its first piece tells of it.
  post_route(routes_[way.first_route], number, slice, at, {});
}

/// Over one queue pair, or split over all of them.
void FabricCarrier::post_route(const Route& route, std::uint64_t number, Slice& slice, Instant at,
                               Bytes wire) {
  // NCCL splits into multiples of this (src/transport/net_ib.cc, ncclIbMultiSend).
  constexpr std::int64_t kAlign = 128;
  const auto pairs = static_cast<std::uint32_t>(plan_.queue_pairs);
  if (!plan_.split) {
    ++slice.parts;
    const auto turn = static_cast<std::uint32_t>(number % pairs);
    return post({route.first_pair + turn, number, wire}, at);
  }
  const std::int64_t piece = ((wire.count + pairs - 1) / pairs + kAlign - 1) / kAlign * kAlign;
  std::int64_t left = wire.count;
  for (std::uint32_t i = 0; i < pairs && (i == 0 || left > 0); ++i) {
    ++slice.parts;
    const Bytes part{std::min(piece, left)};
    left -= part.count;
    post({route.first_pair + i, number, part}, at);
  }
}

void FabricCarrier::done(std::uint32_t queue_pair, std::uint64_t number, Instant at) {
  mix_digest(digest_, (static_cast<std::uint64_t>(at.ps) << 20) ^ queue_pair);
  const std::uint32_t id = way_of_pair_[queue_pair];
  Way& way = ways_[id];
  Slice& slice = slices_.at(id, number - way.first);
  slice.at = std::max(slice.at, at);
  --slice.parts;
  while (!slices_.empty(id) && slices_.front(id).parts == 0) {
    const Instant arrived = slices_.pop(id).at;
    arrivals_.emplace_back(id, arrived);
    ++way.first;
    if (!slices_.empty(id)) slices_.front(id).at = std::max(slices_.front(id).at, arrived);
  }
}

bool FabricCarrier::report(const OnArrival& on_arrival) {
  if (arrivals_.empty()) return false;
  reported_.swap(arrivals_);
  for (const auto& [way, at] : reported_) on_arrival(way, at);
  reported_.clear();
  return true;
}

std::unique_ptr<Carrier> make_carrier(const Cluster& cluster, const NetworkPlan& plan) {
  switch (plan.rung) {
    case Rung::chunk:
      return make_server_carrier(cluster, plan);
    case Rung::flow:
      return make_flow_carrier(cluster, plan);
    case Rung::packet:
      return make_packet_carrier(cluster, plan);
  }
  return nullptr;
}

}  // namespace fabricast
