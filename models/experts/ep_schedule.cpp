#include "models/experts/ep_schedule.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

constexpr int kLanes = 8;  ///< of a batch of the exchange, each way
constexpr std::uint32_t kSlots = 8;

int parts_of(int peers) { return (peers + kLanes - 1) / kLanes; }

}  // namespace

DirectSchedule::DirectSchedule(const Config& config)
    : config_(config), ranks_(config.ways.ranks()), parts_(parts_of(ranks_)) {}

std::uint32_t DirectSchedule::blocks() const {
  return static_cast<std::uint32_t>(ranks_ * 2 * parts_);
}

std::uint32_t DirectSchedule::block(int rank, bool sends, int part) const {
  return static_cast<std::uint32_t>((rank * 2 + (sends ? 0 : 1)) * parts_ + part);
}

/// Combine brings back what dispatch brought there.
std::int64_t DirectSchedule::tokens(int from, int to) const {
  if (config_.phase == EpPhase::combine) std::swap(from, to);
  return config_.by_expert ? config_.counts.pairs(from, to) : config_.counts.to_rank(from, to);
}

/// A block that sends serves the ranks behind its own one, one that receives those before it.
bool DirectSchedule::next(std::uint32_t number, std::uint32_t& cursor, ExchangeBatch& batch) const {
  batch.sends.clear();
  batch.receives.clear();
  batch.copies.clear();
  batch.pooled = false;
  if (cursor++ > 0) return false;
  const int part = static_cast<int>(number) % parts_, which = static_cast<int>(number) / parts_;
  const int rank = which / 2;
  const bool sends = which % 2 == 0;
  for (int away = part * kLanes; away < std::min(ranks_, (part + 1) * kLanes); ++away) {
    const int peer = (rank + (sends ? away : ranks_ - away)) % ranks_;
    const std::int64_t count = sends ? tokens(rank, peer) : tokens(peer, rank);
    if (count == 0) continue;
    ExchangeLane lane;
    lane.peer = block(peer, !sends, part);
    lane.bytes = {count * config_.token_bytes};
    lane.chunk = {(config_.chunk_tokens > 0 ? config_.chunk_tokens : count) * config_.token_bytes};
    lane.slots = kSlots;
    lane.rate = sends ? config_.rates.send : config_.rates.receive;
    (sends ? batch.sends : batch.receives).push_back(lane);
  }
  return !batch.sends.empty() || !batch.receives.empty();
}

void DirectSchedule::way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const {
  const int a = static_cast<int>(from) / parts_ / 2, b = static_cast<int>(lane.peer) / parts_ / 2;
  way = {};
  if (config_.has_pools) way.near.push_back(config_.first_pool + static_cast<std::uint32_t>(a));
  config_.ways.add(a, b, way.near);
}

void DirectSchedule::visit(const std::function<void(const EpPiece&)>& visitor) const {
  for (int from = 0; from < ranks_; ++from) {
    for (int away = 0; away < ranks_; ++away) {
      const int to = (from + away) % ranks_;
      const std::int64_t count = tokens(from, to);
      const int origin = config_.phase == EpPhase::dispatch ? from : to;
      if (count > 0) visitor({origin, from, to, 0, count, false});
    }
  }
}

TwoStageSchedule::TwoStageSchedule(const Config& config)
    : config_(config),
      nodes_(config.ways.nodes()),
      gpus_(config.ways.gpus()),
      parts_(parts_of(nodes_)),
      fans_(parts_of(gpus_)) {
  assert(nodes_ > 1 && config.groups >= 1);
}

int forwarded_at_once(int gpus) { return std::min(gpus, kLanes); }

std::uint32_t TwoStageSchedule::blocks() const {
  return static_cast<std::uint32_t>(nodes_ * gpus_ * (parts_ + nodes_ + nodes_ * fans_));
}

std::uint32_t TwoStageSchedule::block(int rank, Role role, int index, int part) const {
  const int before = role == Role::outer ? 0 : role == Role::middle ? parts_ : parts_ + nodes_;
  const int each = role == Role::inner ? fans_ : 1;
  return static_cast<std::uint32_t>(rank * (parts_ + nodes_ + nodes_ * fans_) + before +
                                    index * each + part);
}

TwoStageSchedule::At TwoStageSchedule::at(std::uint32_t number) const {
  const int each = parts_ + nodes_ + nodes_ * fans_;
  const int rank = static_cast<int>(number) / each, place = static_cast<int>(number) % each;
  if (place < parts_) return {rank, Role::outer, place};
  if (place < parts_ + nodes_) return {rank, Role::middle, place - parts_};
  const int inner = place - parts_ - nodes_;
  return {rank, Role::inner, inner / fans_, inner % fans_};
}

ExchangeLane TwoStageSchedule::lane(std::uint32_t peer, std::int64_t tokens, int group,
                                    Bandwidth rate) const {
  const std::int64_t mine =
      group_begin(tokens, group + 1, config_.groups) - group_begin(tokens, group, config_.groups);
  ExchangeLane out;
  out.peer = peer;
  out.bytes = {mine * config_.token_bytes};
  out.chunk = {std::max<std::int64_t>(mine, 1) * config_.token_bytes};
  out.slots = 1;
  out.rate = rate;
  out.tag = static_cast<std::uint32_t>(group);
  return out;
}

/// Of an outer block: to or from the equal-numbered GPUs of some nodes.
void TwoStageSchedule::add_outer(const At& at, int group, std::vector<ExchangeLane>& lanes) const {
  const int node = at.rank / gpus_, gpu = at.rank % gpus_;
  for (int away = at.index * kLanes; away < std::min(nodes_, (at.index + 1) * kLanes); ++away) {
    const int other = (node + away) % nodes_;
    const Bandwidth rate =
        config_.phase == EpPhase::dispatch ? config_.rates.send : config_.rates.receive;
    lanes.push_back(lane(block(other * gpus_ + gpu, Role::middle, node),
                         config_.counts.to_node(at.rank, other), group, rate));
  }
}

/// Of a middle block: to or from the outer block of the origin.
void TwoStageSchedule::add_to_outer(const At& at, int group,
                                    std::vector<ExchangeLane>& lanes) const {
  const int node = at.rank / gpus_, origin = at.index * gpus_ + at.rank % gpus_;
  const int away = (node + nodes_ - at.index) % nodes_;
  lanes.push_back(lane(block(origin, Role::outer, away / kLanes),
                       config_.counts.to_node(origin, node), group, {}));
}

/// Of a middle block: to or from some ranks of the node, itself first.
void TwoStageSchedule::add_to_inner(const At& at, int group, int part,
                                    std::vector<ExchangeLane>& lanes) const {
  const int node = at.rank / gpus_, origin = at.index * gpus_ + at.rank % gpus_;
  for (int away = part * kLanes; away < std::min(gpus_, (part + 1) * kLanes); ++away) {
    const int rank = node * gpus_ + (at.rank + away) % gpus_;
    lanes.push_back(lane(block(rank, Role::inner, at.index, at.rank % gpus_ / kLanes),
                         config_.counts.to_rank(origin, rank), group, config_.rates.forward));
  }
}

/// Of an inner block: to or from those that forward the tokens of one node.
void TwoStageSchedule::add_inner(const At& at, int group, std::vector<ExchangeLane>& lanes) const {
  const int node = at.rank / gpus_;
  for (int gpu = at.part * kLanes; gpu < std::min(gpus_, (at.part + 1) * kLanes); ++gpu) {
    const int origin = at.index * gpus_ + gpu;
    lanes.push_back(lane(block(node * gpus_ + gpu, Role::middle, at.index),
                         config_.counts.to_rank(origin, at.rank), group, config_.rates.local));
  }
}

/// A middle block takes one group while it hands on the one before.
void TwoStageSchedule::next_of_middle(const At& at, int cursor, ExchangeBatch& batch) const {
  const int groups = config_.groups;
  if (config_.phase == EpPhase::dispatch) {
    const int sent = cursor - 1;  // first it only receives
    const int group = sent / fans_, part = sent % fans_;
    if (cursor == 0) {
      add_to_outer(at, 0, batch.receives);
    } else if (group < groups) {
      if (part == 0 && group + 1 < groups) add_to_outer(at, group + 1, batch.receives);
      add_to_inner(at, group, part, batch.sends);
    }
    return;
  }
  const int group = cursor / fans_, part = cursor % fans_;
  if (group < groups) add_to_inner(at, group, part, batch.receives);
  if (part == 0 && group > 0 && group <= groups) add_to_outer(at, group - 1, batch.sends);
}

bool TwoStageSchedule::next(std::uint32_t number, std::uint32_t& cursor,
                            ExchangeBatch& batch) const {
  batch.sends.clear();
  batch.receives.clear();
  batch.copies.clear();
  batch.pooled = false;
  const At place = at(number);
  const int group = static_cast<int>(cursor++), groups = config_.groups;
  const bool dispatches = config_.phase == EpPhase::dispatch;
  switch (place.role) {
    case Role::outer:
      if (group < groups) add_outer(place, group, dispatches ? batch.sends : batch.receives);
      break;
    case Role::inner:
      if (group < groups) add_inner(place, group, dispatches ? batch.receives : batch.sends);
      break;
    case Role::middle:
      next_of_middle(place, group, batch);
      break;
  }
  return !batch.sends.empty() || !batch.receives.empty();
}

void TwoStageSchedule::way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const {
  way = {};
  config_.ways.add(at(from).rank, at(lane.peer).rank, way.near);
}

void TwoStageSchedule::visit(const std::function<void(const EpPiece&)>& visitor) const {
  const bool dispatches = config_.phase == EpPhase::dispatch;
  ExchangeBatch batch;
  for (std::uint32_t number = 0; number < blocks(); ++number) {
    const At place = at(number);
    std::uint32_t cursor = 0;
    while (next(number, cursor, batch)) {
      for (const ExchangeLane& sent : batch.sends) {
        const At peer = at(sent.peer);
        const bool inside = place.role == Role::inner || peer.role == Role::inner;
        const At& middle = place.role == Role::middle ? place : peer;
        EpPiece piece;
        piece.origin = middle.index * gpus_ + middle.rank % gpus_;
        piece.from = place.rank;
        piece.to = peer.rank;
        piece.forwarded = inside;
        const int owner = dispatches ? peer.rank : place.rank;
        const std::int64_t all = inside ? config_.counts.to_rank(piece.origin, owner)
                                        : config_.counts.to_node(piece.origin, middle.rank / gpus_);
        piece.first = group_begin(all, static_cast<int>(sent.tag), config_.groups);
        piece.tokens = sent.bytes.count / config_.token_bytes;
        if (piece.tokens > 0) visitor(piece);
      }
    }
  }
}

}  // namespace fabricast
