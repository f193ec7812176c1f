#include "models/nccl/schedules/p2p_schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "models/nccl/schedules/p2p_shares.hpp"
#include "models/nccl/schedules/post_costs.hpp"
#include "sim/base/distinct_ways.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

constexpr int kRoundsOfBlock = 8;  ///< rounds that a block serves at once
constexpr std::uint32_t kSlots = kConnectionSlots;
constexpr std::uint32_t kPoolSlots = 16;  ///< NCCL_SHARED_STEPS

std::uint32_t kind_of(Protocol protocol, HopKind hop) {
  return (protocol == Protocol::ll ? 0 : kHopKinds) + static_cast<std::uint32_t>(hop);
}
Protocol protocol_of(std::uint32_t kind) {
  return kind < kHopKinds ? Protocol::ll : Protocol::simple;
}
HopKind hop_of(std::uint32_t kind) { return static_cast<HopKind>(kind % kHopKinds); }

std::uint32_t chunks_of_part(const P2pPart& part) {
  ExchangeLane lane;
  lane.bytes = part.size;
  lane.chunk = part.chunk;
  return lane.chunks();
}

/// What one end of a message costs its block before its bytes move: half of an end of a ring, as a
/// few warps wait for each other instead of all of a block. Over the network it looks for slots in
/// host memory, and chunks follow one another as slowly as a ring's.
Duration overhead_of_message_end(const ProtocolCosts& costs, HopKind hop) {
  const Duration ring = costs.overhead_of_end(hop);
  return hop == HopKind::net ? ring : Duration{ring.ps / 2};
}

/// A share of a block's rate on a GPU of this speed.
Bandwidth part_of(Bandwidth block, double share, double speed) {
  return {std::llround(static_cast<double>(block.bytes_per_s) * share * speed)};
}

std::vector<int> parts_of_channels(const P2pRules& rules) {
  const int channels = rules.channels.channels;
  std::vector<int> out;
  for (int base = 0; base < channels; ++base)
    for (int channel = 0; channel < channels; ++channel)
      out.push_back(p2p_part_of_channel(rules.version, channels, base, channel));
  return out;
}

/// What has been told of ways, node by node.
class ToldWays {
 public:
  ToldWays(std::size_t nodes, std::size_t kinds)
      : kinds_(kinds), near_(kinds), far_(nodes * kinds) {}

  /// Whether a way from the node, of this number of links to its slots, is the first one. Senders
  /// come node by node.
  bool is_new_near(int from_node, std::uint32_t near) {
    if (from_node != from_) {
      near_.assign(near_.size(), false);
      far_.assign(far_.size(), false);
      from_ = from_node;
    }
    return add(near_, near);
  }
  /// The same of those behind, of ways to another node from the one that was asked for last.
  bool is_new_far(int to_node, std::uint32_t far) {
    return add(far_, static_cast<std::size_t>(to_node) * kinds_ + far);
  }

 private:
  static bool add(std::vector<bool>& told, std::size_t place) {
    const bool is_new = !told[place];
    told[place] = true;
    return is_new;
  }

  std::size_t kinds_;
  int from_ = -1;
  std::vector<bool> near_, far_;
};

/// Ways to other nodes that have been told, where each connection has one of its own: link by link,
/// with the one before it. From these follows with which lead times a link is reached
/// (Transit::joints()), so that a way of known steps, no longer than others, says nothing new.
class ToldSteps {
 public:
  bool is_new(std::span<const std::uint32_t> way) {
    bool out = way.size() > longest_;
    longest_ = std::max(longest_, way.size());
    std::uint32_t before = kLinkBits;
    for (const std::uint32_t link : way) {
      if ((link & ~kLinkBits) != 0) return true;  // steps several links wide
      const std::size_t known = steps_.count();
      out = steps_.add(std::array{before, link}) == known || out;
      before = link;
    }
    return out;
  }

 private:
  std::size_t longest_ = 0;
  DistinctWays steps_;  ///< two links each
};

std::array<ProtocolCosts, kProtocols> costs_on_gpus(const P2pSchedule::Config& config) {
  std::array<ProtocolCosts, kProtocols> out;
  for (int p = 0; p < kProtocols; ++p)
    out[static_cast<std::size_t>(p)] =
        config.software.costs(static_cast<Protocol>(p), config.cluster.node().gpus().front().part);
  return out;
}

}  // namespace

P2pSchedule::P2pSchedule(const Config& config)
    : config_(config),
      costs_(costs_on_gpus(config)),
      rounds_(config.plan.rules.version, config.members.node_count(), gpus(),
              config.plan.group_size),
      ways_(config.cluster, config.members, config.plan.rules.channels.channels, config.plan.nics,
            config.transport, config.routes.value_or(FabricRoutes(config.cluster))),
      places_(config.cluster, config.symmetry, config.links, config.members, channels()),
      part_of_channel_(parts_of_channels(config.plan.rules)),
      rounds_of_channel_(static_cast<std::size_t>(config.plan.rules.channels.channels)) {
  const P2pRules& rules = config_.plan.rules;
  const Bytes usual = config_.traffic.usual();
  for (const bool over_net : {false, true}) {
    const P2pSplit split = p2p_split(rules, usual, over_net);
    for (int part = 0; part < std::min(split.parts, rules.channels.per_peer); ++part)
      usual_[over_net ? 1 : 0].push_back(p2p_part(rules, usual, split, part, over_net));
  }
  for (int round = 0; round < rounds_.count(); ++round) {
    for (int channel = 0; channel < channels(); ++channel) {
      // Ranks of all nodes are alike.
      for (int rank = 0; rank < gpus(); ++rank) {
        const int peer = rounds_.send_peer(rank, round);
        if (peer == kNoPeer) continue;
        if (part_for(round, rank, peer, channel) >= rules.channels.per_peer) continue;
        rounds_of_channel_[static_cast<std::size_t>(channel)].push_back(round);
        break;
      }
    }
  }
  find_busy_rounds();
}

/// Who sends to the next rank alone, or to a root, need not walk all rounds.
void P2pSchedule::find_busy_rounds() {
  constexpr std::size_t kFew = 64;
  if (config_.traffic.is_uniform()) return;
  const int ranks = config_.members.ranks();
  busy_rounds_.resize(static_cast<std::size_t>(ranks));
  for (const int rank : simulated_ranks()) {
    std::vector<int>& busy = busy_rounds_[static_cast<std::size_t>(rank)];
    for (int peer = 0; peer < ranks && busy.size() <= kFew; ++peer) {
      if (config_.traffic.bytes(rank, peer) != P2pTraffic::kNone)
        busy.push_back(rounds_.round_of(rank, peer));
      if (config_.traffic.bytes(peer, rank) != P2pTraffic::kNone)
        busy.push_back(rounds_.round_of(peer, rank));
    }
    if (busy.size() > kFew) busy.clear();
    std::ranges::sort(busy);
    busy.erase(std::unique(busy.begin(), busy.end()), busy.end());
  }
}

/// The first place from `cursor` on, on a channel of these rounds, of a round that may have work.
std::uint32_t P2pSchedule::next_busy(const std::vector<int>& rounds, int rank,
                                     std::uint32_t cursor) const {
  if (busy_rounds_.empty()) return cursor;
  const std::vector<int>& busy = busy_rounds_[static_cast<std::size_t>(rank)];
  if (busy.empty()) return cursor;
  const auto per_call = static_cast<std::uint32_t>(rounds.size());
  const auto first = rounds.begin() + cursor % per_call;
  for (auto at = std::ranges::lower_bound(busy, *first); at != busy.end(); ++at) {
    const auto found = std::lower_bound(first, rounds.end(), *at);
    if (found != rounds.end() && *found == *at)
      return cursor + static_cast<std::uint32_t>(found - first);
  }
  return cursor - cursor % per_call + per_call;  // in the next call, if there is one
}

std::uint32_t P2pSchedule::threads() const { return places_.threads(ways_.threads()); }

/// In ascending order.
std::vector<int> P2pSchedule::simulated_ranks() const {
  std::vector<int> out;
  const auto per_rank = static_cast<std::uint32_t>(channels());
  for (std::uint32_t block = 0; block < blocks(); ++block) {
    const std::uint32_t place = places_.place(block);
    if (place % per_rank == 0)  // of a rank all channels are simulated, or none
      out.push_back(static_cast<int>(place / per_rank));
  }
  std::ranges::sort(out);
  return out;
}

/// visit(rank, to, round, bytes) for each message between two ranks that is simulated, rank by rank
/// and round by round.
template <class Visit>
void P2pSchedule::each_message(const Visit& visit) const {
  for (const int rank : simulated_ranks()) {
    const auto look_at = [&](int round) {
      const int to = rounds_.send_peer(rank, round);
      if (to == kNoPeer || to == rank) return;
      const Bytes message{config_.traffic.bytes(rank, to)};
      if (message.count != P2pTraffic::kNone) visit(rank, to, round, message);
    };
    if (!busy_rounds_.empty() && !busy_rounds_[static_cast<std::size_t>(rank)].empty()) {
      for (const int round : busy_rounds_[static_cast<std::size_t>(rank)]) look_at(round);
      continue;
    }
    for (int round = 0; round < rounds_.count(); ++round) look_at(round);
  }
}

std::uint64_t P2pSchedule::chunks() const {
  std::uint64_t out = 0;
  const Bytes usual = config_.traffic.usual();
  const std::array of_usual = {chunks_of(usual, false), chunks_of(usual, true)};
  if (config_.traffic.is_uniform()) {  // as the sum below says
    const auto far = static_cast<std::uint64_t>(config_.members.ranks() - gpus());
    for (const int rank : simulated_ranks()) {
      const int first = rank / gpus() * gpus();
      for (int to = first; to < first + gpus(); ++to)
        if (to != rank) out += of_usual[goes_over_net(rank, to) ? 1 : 0];
      out += far * of_usual[1];
    }
    return out * static_cast<std::uint64_t>(config_.calls);
  }
  std::map<std::pair<std::int64_t, bool>, std::uint64_t> known;  // others: by bytes and network
  each_message([&](int rank, int to, int /*round*/, Bytes message) {
    const bool over_net = goes_over_net(rank, to);
    if (message == usual) {
      out += of_usual[over_net ? 1 : 0];
      return;
    }
    const auto [at, is_new] = known.try_emplace({message.count, over_net});
    if (is_new) at->second = chunks_of(message, over_net);
    out += at->second;
  });
  return out * static_cast<std::uint64_t>(config_.calls);
}

std::uint64_t P2pSchedule::chunks_of(Bytes message, bool over_net) const {
  const P2pRules& rules = config_.plan.rules;
  const P2pSplit split = p2p_split(rules, message, over_net);
  std::uint64_t out = 0;
  for (int part = 0; part < std::min(split.parts, rules.channels.per_peer); ++part) {
    out += chunks_of_part(p2p_part(rules, message, split, part, over_net));
  }
  return out;
}

/// How many messages the GPU of a node that gets most gets from the others.
int P2pSchedule::messages_inside() const {
  int most = 0;
  for (int rank = 0; rank < gpus(); ++rank) {
    int got = 0;
    for (int round = 0; round < rounds_.count(); ++round) {
      const int from = rounds_.receive_peer(rank, round);
      if (from == kNoPeer || from == rank || is_remote(from, rank)) continue;
      if (config_.traffic.bytes(from, rank) != P2pTraffic::kNone) ++got;
    }
    most = std::max(most, got);
  }
  return most;
}

std::vector<MessageKind> P2pSchedule::kinds() const {
  std::vector<MessageKind> out;
  const NetworkSettings& settings = config_.transport.network;
  const NetworkCosts network =
      network_costs(config_.software, config_.cluster.node(), settings.kind);
  const Duration spread =
      scaled(config_.software.message_spread, std::log2(std::max(messages_inside(), 1)));
  for (const Protocol protocol : {Protocol::ll, Protocol::simple}) {
    const ProtocolCosts& of_gpu = costs(protocol);
    for (std::size_t hop = 0; hop < kHopKinds; ++hop) {
      const bool net = static_cast<HopKind>(hop) == HopKind::net;
      out.push_back(
          {wire_format(protocol), overhead_of_message_end(of_gpu, static_cast<HopKind>(hop)),
           net ? network.sync[index_of(protocol)] : of_gpu.sync[hop] + spread,
           net ? post_cost(network, settings, protocol) : PostCost{},
           net ? receipt_cost(network, settings, protocol) : PostCost{},
           net ? network.poll : Duration{}, net && settings.kind == NetKind::sockets, net});
    }
  }
  return out;
}

bool P2pSchedule::next(std::uint32_t number, std::uint32_t& cursor, ExchangeBatch& batch) const {
  const std::uint32_t block = places_.place(number);
  const int rank = static_cast<int>(block) / channels();
  const int channel = static_cast<int>(block) % channels();
  const std::vector<int>& rounds = rounds_of_channel_[static_cast<std::size_t>(channel)];
  batch.sends.clear();
  batch.receives.clear();
  batch.copies.clear();
  batch.pooled = config_.plan.shared_buffers;
  // Each call of a group walks all rounds (src/enqueue.cc, scheduleP2pTasksToPlan).
  const auto per_call = static_cast<std::uint32_t>(rounds.size());
  const std::uint32_t end = per_call * static_cast<std::uint32_t>(config_.calls);
  const bool is_old = config_.plan.rules.version < kNccl2_22;
  int taken = 0, window = 0;
  std::uint32_t first = cursor;
  for (; cursor < end && taken < kRoundsOfBlock; ++cursor) {
    const std::uint32_t busy = next_busy(rounds, rank, cursor);
    if (busy != cursor) {
      cursor = busy - 1;  // which the loop moves on
      continue;
    }
    const int round = rounds[cursor % per_call], call = static_cast<int>(cursor / per_call);
    // Up to 2.21 every eighth round begins a new batch, whatever the channel had before; then one
    // that the batch has already.
    const int eighth =
        call * ((rounds_.count() + kRoundsOfBlock - 1) / kRoundsOfBlock) + round / kRoundsOfBlock;
    if (taken > 0 && (is_old ? eighth != window : cursor - first >= per_call)) break;
    if (!add_round(rank, channel, round, call, batch)) continue;
    if (taken == 0) first = cursor;
    ++taken;
    window = eighth;
  }
  if (taken == 0) return false;
  share_block(rank, taken, batch);
  share_slots(batch.sends);
  share_slots(batch.receives);
  if (has_verbs(config_.transport.network.kind)) join_receives(rank, channel, batch.receives);
  return true;
}

/// Whether there is anything to do.
bool P2pSchedule::add_round(int rank, int channel, int round, int call,
                            ExchangeBatch& batch) const {
  const int to = rounds_.send_peer(rank, round), from = rounds_.receive_peer(rank, round);
  const auto peer_block = [&](int peer) {
    return places_.number(static_cast<std::uint32_t>(peer * channels() + channel));
  };
  bool any = false;
  if (to != kNoPeer && !(to == rank && config_.in_place)) {
    if (auto send = lane(rank, to, channel, round)) {
      any = true;
      send->peer = peer_block(to);
      send->tag = static_cast<std::uint32_t>(call * rounds_.count() + round);
      if (to == rank) {
        batch.copies.push_back({send->bytes, {}});
      } else {
        batch.sends.push_back(*send);
      }
    }
  }
  if (from != kNoPeer && from != rank) {
    if (auto receive = lane(from, rank, channel, round)) {
      any = true;
      receive->peer = peer_block(from);
      receive->tag = static_cast<std::uint32_t>(call * rounds_.count() + round);
      batch.receives.push_back(*receive);
    }
  }
  return any;
}

/// Part `part` of a message, if it has as many. REQUIRES: a channel per peer for it.
std::optional<P2pPart> P2pSchedule::cut(Bytes message, int part, bool over_net) const {
  if (message == config_.traffic.usual()) {
    const std::vector<P2pPart>& parts = usual_[over_net ? 1 : 0];
    const auto number = static_cast<std::size_t>(part);
    return number < parts.size() ? std::optional(parts[number]) : std::nullopt;
  }
  const P2pSplit split = p2p_split(config_.plan.rules, message, over_net);
  if (part >= split.parts) return std::nullopt;
  return p2p_part(config_.plan.rules, message, split, part, over_net);
}

/// Of the message between two ranks, which a channel has, if there are as many.
int P2pSchedule::part_for(int round, int from, int to, int channel) const {
  const int base = rounds_.base(round, from, to) % channels();
  return part_of_channel_[static_cast<std::size_t>(base * channels() + channel)];
}

/// The part of a message that goes over a channel, if there is one.
std::optional<ExchangeLane> P2pSchedule::lane(int from, int to, int channel, int round) const {
  const P2pRules& rules = config_.plan.rules;
  const Bytes message{config_.traffic.bytes(from, to)};
  if (message.count == P2pTraffic::kNone) return std::nullopt;
  const int part = part_for(round, from, to, channel);
  if (part >= rules.channels.per_peer) return std::nullopt;
  const auto found = cut(message, part, goes_over_net(from, to));
  if (!found) return std::nullopt;
  ExchangeLane out;
  out.bytes = found->size;
  out.chunk = found->chunk;
  out.kind = kind_of(found->protocol, from == to ? HopKind::nvlink : ways_.hop(from, to));
  return out;
}

Duration P2pSchedule::overhead(std::uint32_t kind) const {
  return overhead_of_message_end(costs(protocol_of(kind)), hop_of(kind));
}

/// Divides the block's warps.
void P2pSchedule::share_block(int rank, int rounds, ExchangeBatch& batch) const {
  const int copies = static_cast<int>(batch.copies.size());
  const P2pWarps warps =
      p2p_warps(config_.plan.rules.version, rounds, static_cast<int>(batch.sends.size()) + copies,
                static_cast<int>(batch.receives.size()) + copies);
  const auto device = static_cast<std::size_t>(config_.members.gpu(rank));
  const GpuPart& gpu = config_.cluster.node().gpus()[device].part;
  const double speed = speed_of(config_.slow, rank);
  const double packed = config_.traffic.is_aligned(rank, kP2pPack) ? 1 : 1.0 / kP2pPack;
  const auto share_of_warps = [&](int some) {
    return std::min(1.0, some / config_.software.copy_warps);
  };
  const auto rate_lanes = [&](std::vector<ExchangeLane>& lanes,
                              const std::vector<ExchangeLane>& others, int lone_warps) {
    const double of_long = config_.software.lane_share;
    OtherDirection other(others);
    bool was_lone = false;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      ExchangeLane& lane = lanes[i];
      const bool is_net = hop_of(lane.kind) == HopKind::net;
      const bool is_lone = !other.has(lane) && !(is_net && !others.empty());
      const bool is_as_before = i > 0 && is_lone == was_lone && lane.kind == lanes[i - 1].kind &&
                                lane.bytes == lanes[i - 1].bytes &&
                                lane.chunk == lanes[i - 1].chunk;
      was_lone = is_lone;
      if (is_as_before) {
        lane.rate = lanes[i - 1].rate;
        lane.extra = lanes[i - 1].extra;
        continue;
      }
      const Protocol protocol = protocol_of(lane.kind);
      const double of_block = others.empty() ? share_of_lone(lane, lanes.size(), is_net, of_long)
                                             : share_of_lane(lane, lanes.size(), of_long);
      const double share =
          protocol == Protocol::ll
              ? config_.software.ll_lane_share
              : packed * std::min(share_of_warps(is_lone ? lone_warps : warps.shared), of_block);
      lane.rate = part_of(gpu.copy_rate[index_of(protocol)], share, speed);
      lane.extra = slowed(overhead(lane.kind), speed) - overhead(lane.kind);
    }
  };
  rate_lanes(batch.sends, batch.receives, warps.lone_send);
  rate_lanes(batch.receives, batch.sends, warps.lone_receive);
  for (ExchangeBatch::Copy& copy : batch.copies)
    copy.rate = part_of(gpu.copy_rate[index_of(Protocol::simple)],
                        packed * share_of_warps(warps.copy), speed);
}

/// Simple through the network: the batch divides the pool. LL has buffers of its own.
void P2pSchedule::share_slots(std::vector<ExchangeLane>& lanes) const {
  const auto is_pooled = [&](const ExchangeLane& lane) {
    return config_.plan.shared_buffers && hop_of(lane.kind) == HopKind::net &&
           protocol_of(lane.kind) == Protocol::simple;
  };
  const auto sharers = static_cast<std::uint32_t>(std::ranges::count_if(lanes, is_pooled));
  for (ExchangeLane& lane : lanes)
    lane.slots = is_pooled(lane) ? std::min(kSlots, kPoolSlots / sharers) : kSlots;
}

/// What one proxy of another node sends over the channel shares a connection, and is received by
/// one call (NCCL_NET_IB_MAX_RECVS of them at most, as many as a batch has). Of plugins and sockets
/// a call takes one.
void P2pSchedule::join_receives(int rank, int channel, std::vector<ExchangeLane>& lanes) const {
  std::array<int, kRoundsOfBlock> proxies{};
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const int from = rounds_.receive_peer(rank, round_of(lanes[i]));
    proxies[i] = is_remote(from, rank) ? ways_.proxy(from, rank, channel) : -1;
  }
  const auto end = proxies.begin() + static_cast<std::ptrdiff_t>(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (proxies[i] >= 0)
      lanes[i].joint = static_cast<std::uint32_t>(std::count(proxies.begin(), end, proxies[i]));
  }
}

void P2pSchedule::way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const {
  const int block = static_cast<int>(places_.place(from));
  const int rank = block / channels();
  const int to = rounds_.send_peer(rank, round_of(lane));
  way_between(rank, to, block % channels(), protocol_of(lane.kind), way);
}

void P2pSchedule::way_between(int rank, int to, int channel, Protocol protocol,
                              ExchangeWay& way) const {
  ways_.way(rank, to, channel, protocol, way);
  for (std::uint32_t& link : way.near) link = places_.link(link);
  for (std::uint32_t& link : way.far) link = places_.link(link);
  if (!way.relayed) return;
  way.send_thread = places_.thread(way.send_thread);
  way.receive_thread = places_.thread(way.receive_thread);
}

/// Numbers of the links of ways of a kind, to the slots and behind: equal ones are the same links
/// between the same two nodes.
struct P2pSchedule::LinksOfKind {
  std::uint32_t near = 0, far = 0;
};

std::vector<P2pSchedule::LinksOfKind> P2pSchedule::links_of_kinds() const {
  std::vector<LinksOfKind> out;
  DistinctWays nears, fars;
  ExchangeWay ends;
  for (std::uint32_t kind = 0; kind < ways_.kinds(); ++kind) {
    ways_.ends_of(kind, ends);
    for (auto* links : {&ends.near, &ends.far})
      for (std::uint32_t& link : *links) link = places_.link(link);
    out.push_back({nears.add(ends.near), fars.add(ends.far)});
  }
  return out;
}

/// Ways to another node that have links in common with those told before leave them out: messages
/// of a node go out of few NICs.
std::uint64_t P2pSchedule::each_way(std::uint32_t /*blocks*/, const WayVisitor& visit) const {
  const P2pRules& rules = config_.plan.rules;
  const Members& members = config_.members;
  const std::vector<LinksOfKind> links = links_of_kinds();
  ToldWays told(static_cast<std::size_t>(config_.cluster.nodes()), links.size());
  ToldSteps told_steps;
  const bool is_hashed = config_.routes && config_.routes->are_hashed();
  std::uint64_t chunks = 0;
  ExchangeWay way;
  each_message([&](int rank, int to, int round, Bytes message) {
    for (int part = 0; part < rules.channels.per_peer; ++part) {
      const auto found = cut(message, part, goes_over_net(rank, to));
      if (!found) break;
      const int base = rounds_.base(round, rank, to);
      const int channel = p2p_channel(rules.version, channels(), base, part);
      chunks += chunks_of_part(*found);
      const int from_node = members.node(rank), to_node = members.node(to);
      bool near_is_new = true, far_is_new = true;
      if (from_node != to_node) {
        const LinksOfKind& of = links[ways_.kind(rank, to, channel, found->protocol)];
        near_is_new = told.is_new_near(from_node, of.near);
        far_is_new = is_hashed || told.is_new_far(to_node, of.far);
        if (!near_is_new && !far_is_new) continue;
      }
      way_between(rank, to, channel, found->protocol, way);
      if (is_hashed && from_node != to_node) far_is_new = told_steps.is_new(way.far);
      if (!near_is_new) way.near.clear();
      if (!far_is_new) way.far.clear();
      if (near_is_new || far_is_new) visit(way);
    }
  });
  return chunks * static_cast<std::uint64_t>(config_.calls);
}

P2pSchedule::Config exchange_of(const QueuedWork& work, const Members& members,
                                const Cluster& cluster, const SoftwareCosts& software,
                                SimulatedLinks& links, std::deque<P2pTraffic>& traffics,
                                const FabricRoutes& routes) {
  const CollectiveRun& run = *work.run;
  const P2pTraffic* traffic = run.traffic;
  if (traffic == nullptr)
    traffic = &traffics.emplace_back(run.collective, members.ranks(),
                                     Bytes{run.count * run.element_bytes}, run.root);
  SimulatedLinks* const folded = links.is_folded() ? &links : nullptr;
  return {cluster,      software,       members, run.p2p,         *traffic, run.transport,
          run.in_place, &work.symmetry, folded,  run.faults.gpus, routes,   run.calls};
}

}  // namespace fabricast
