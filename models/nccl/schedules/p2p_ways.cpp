#include "models/nccl/schedules/p2p_ways.hpp"

#include <algorithm>
#include <cassert>

#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/schedules/post_costs.hpp"

namespace fabricast {
namespace {

void append(const Cluster& cluster, int node, const std::vector<LinkId>& local,
            std::vector<std::uint32_t>& links) {
  const std::size_t begin = links.size();
  links.resize(begin + local.size());
  std::ranges::transform(local, links.begin() + static_cast<std::ptrdiff_t>(begin),
                         [&](LinkId link) { return index_of(cluster.global(node, link)); });
}

}  // namespace

P2pWays::P2pWays(const Cluster& cluster, const Members& members, int channels, const P2pNics& nics,
                 const TransportRules& rules, const FabricRoutes& routes)
    : cluster_(cluster),
      members_(members),
      gpus_(members.gpus_per_node()),
      channels_(channels),
      nics_(nics),
      rules_(rules),
      routes_(routes),
      planner_(cluster, members.gpus(), rules) {
  const int places = 4 * gpus_ * gpus_ * channels;
  by_place_.resize(static_cast<std::size_t>(places));
  for (const bool remote : {false, true}) {
    if (remote && members.node_count() == 1) continue;
    for (const Protocol protocol : {Protocol::ll, Protocol::simple}) {
      for (int i = 0; i < gpus_ * gpus_ * channels; ++i)
        plan(i / channels / gpus_, i / channels % gpus_, i % channels, remote, protocol);
    }
  }
}

std::size_t P2pWays::place(int from_gpu, int to_gpu, int channel, bool remote,
                           Protocol protocol) const {
  const int kind = (remote ? 2 : 0) + (protocol == Protocol::ll ? 1 : 0);
  return static_cast<std::size_t>(((kind * gpus_ + from_gpu) * gpus_ + to_gpu) * channels_ +
                                  channel);
}

void P2pWays::plan(int from_gpu, int to_gpu, int channel, bool remote, Protocol protocol) {
  if (!remote && from_gpu == to_gpu) return;
  Endpoint from{0, members_.gpu(from_gpu), 0}, to{remote ? 1 : 0, members_.gpu(to_gpu), 0};
  P2pExit exit{0, from_gpu};
  if (remote) {
    exit = nics_.exit(from_gpu, to_gpu, channel);
    from.nic = exit.nic;
    to.nic = nics_.entry(to_gpu, channel);
  }
  by_place_[place(from_gpu, to_gpu, channel, remote, protocol)] =
      pattern(from, to, members_.gpu(exit.proxy_gpu), protocol);
}

/// Of links from node 0 to node 1, those in the nodes.
P2pWays::Route P2pWays::route(int from_nic, int to_nic, const std::vector<LinkId>& links) const {
  const auto links_per_node = static_cast<std::uint32_t>(cluster_.node().links().size());
  const std::span<const NicInfo> nics = cluster_.node().nics();
  Route out;
  out.from_nic = nics[static_cast<std::size_t>(from_nic)].vertex;
  out.to_nic = nics[static_cast<std::size_t>(to_nic)].vertex;
  for (const LinkId link : links) {
    const std::uint32_t id = index_of(link);
    if (id < links_per_node) {
      out.out.push_back(link);
    } else if (id < 2 * links_per_node) {
      out.in.push_back(LinkId{id - links_per_node});
    }
  }
  return out;
}

std::uint32_t P2pWays::pattern(Endpoint from, Endpoint to, int proxy_gpu, Protocol protocol) {
  const auto [at, is_new] =
      known_.try_emplace({to.node, from.gpu, to.gpu, from.nic, to.nic, proxy_gpu, protocol},
                         static_cast<std::uint32_t>(patterns_.size()));
  if (!is_new) return at->second;
  const Transport planned = planner_.plan(protocol, from, to, proxy_gpu);
  Pattern pattern;
  pattern.hop = planned.kind;
  pattern.near = planned.into_slots;  // node 0: local numbers are global ones
  if (to.node != 0) {
    pattern.routes.push_back(route(from.nic, to.nic, planned.network));
    for (const NicRoute& other : planned.beside)
      pattern.routes.push_back(route(other.from_nic, other.to_nic, other.links));
  }
  if (pattern.hop == HopKind::net)
    pattern.proxy = members_.rank(members_.nodes().front(), planned.proxy_gpu);
  pattern.sender_flag = planned.sender_flag;
  pattern.receiver_flag = planned.receiver_flag;
  pattern.flush = planned.flush;
  patterns_.push_back(std::move(pattern));
  return at->second;
}

HopKind P2pWays::hop(int from, int to) const {
  if (from / gpus_ != to / gpus_) return HopKind::net;
  return patterns_[by_place_[place(from % gpus_, to % gpus_, 0, false, Protocol::simple)]].hop;
}

int P2pWays::proxy(int from, int to, int channel) const {
  const std::uint32_t pattern =
      by_place_[place(from % gpus_, to % gpus_, channel, true, Protocol::simple)];
  return from / gpus_ * gpus_ + patterns_[pattern].proxy;
}

std::uint32_t P2pWays::kind(int from, int to, int channel, Protocol protocol) const {
  assert(from != to);
  const bool remote = members_.node(from) != members_.node(to);
  return by_place_[place(from % gpus_, to % gpus_, channel, remote, protocol)];
}

void P2pWays::ends_of(std::uint32_t kind, ExchangeWay& way) const {
  const Pattern& pattern = patterns_[kind];
  const int node = members_.nodes().front();
  way.near.clear();
  way.far.clear();
  append(cluster_, node, pattern.near, way.near);
  for (const Route& route : pattern.routes) {
    append(cluster_, node, route.out, way.far);
    way.far.push_back(index_of(cluster_.nic_to_leaf(node, route.from_nic)));
    way.far.push_back(index_of(cluster_.leaf_to_nic(node, route.to_nic)));
    append(cluster_, node, route.in, way.far);
  }
}

/// Of those between two NICs: one for each two of the nodes' ranks and channel.
std::uint32_t P2pWays::connection(int from, int to, int channel) const {
  return static_cast<std::uint32_t>((from % gpus_ * gpus_ + to % gpus_) * channels_ + channel);
}

void P2pWays::way(int from, int to, int channel, Protocol protocol, ExchangeWay& way) const {
  const int from_node = members_.node(from), to_node = members_.node(to);
  const bool remote = from_node != to_node;
  const Pattern& pattern = patterns_[kind(from, to, channel, protocol)];
  way.near.clear();
  way.far.clear();
  way.relayed = pattern.hop == HopKind::net;
  way.sender_flag = pattern.sender_flag;
  way.receiver_flag = pattern.receiver_flag;
  way.flush = pattern.flush;
  append(cluster_, from_node, pattern.near, way.near);
  if (!way.relayed) return;
  const std::uint32_t number = connection(from, to, channel);
  const auto lay = [&](const Route& route, std::vector<std::uint32_t>& links) {
    append(cluster_, from_node, route.out, links);
    routes_.add(from_node, route.from_nic, to_node, route.to_nic, number, links);
    append(cluster_, to_node, route.in, links);
  };
  if (remote && pattern.routes.size() == 1) {
    lay(pattern.routes.front(), way.far);
  } else if (remote) {
    std::vector<std::vector<std::uint32_t>> routes(pattern.routes.size());
    for (std::size_t i = 0; i < routes.size(); ++i) lay(pattern.routes[i], routes[i]);
    way.far = side_by_side(routes);
  } else {
    Transport inside =
        plan_transport(cluster_, members_.gpus(), protocol, {from_node, members_.gpu(from), 0},
                       {to_node, members_.gpu(to), 0}, rules_);
    routes_.lay_again(inside.network, number);
    for (NicRoute& other : inside.beside) routes_.lay_again(other.links, number);
    std::vector<std::vector<std::uint32_t>> routes = {link_ids(inside.network)};
    for (const NicRoute& other : inside.beside) routes.push_back(link_ids(other.links));
    way.far = side_by_side(routes);
  }
  way.send_thread = static_cast<std::uint32_t>(from / gpus_ * gpus_ + pattern.proxy);
  if (copies_alone(rules_.network))
    way.send_thread = ranks() + static_cast<std::uint32_t>(from * channels_ + channel);
  way.receive_thread = static_cast<std::uint32_t>(to);
}

std::uint32_t P2pWays::ranks() const { return static_cast<std::uint32_t>(members_.ranks()); }

std::uint32_t P2pWays::threads() const {
  const auto blocks = ranks() * static_cast<std::uint32_t>(channels_);
  return ranks() + (copies_alone(rules_.network) ? blocks : 0);
}

}  // namespace fabricast
