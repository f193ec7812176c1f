#include "models/nccl/peer_kernels/peer_moves.hpp"

#include <algorithm>
#include <utility>

namespace fabricast {
namespace {

constexpr Bytes kFlag{4}, kRequest{32};
constexpr std::int64_t kVector = 16;  // bytes that a thread moves at once

/// On the wire: every word of LL has a flag beside it.
Bytes wire_bytes(Bytes bytes, MoveKind kind) { return kind == MoveKind::ll ? bytes * 2 : bytes; }

template <class Visit>
void visit_pairs(int gpus, Visit visit) {
  for (int from = 0; from < gpus; ++from)
    for (int i = 1; i < gpus; ++i) visit(from, (from + i) % gpus);
}

}  // namespace

Bytes part_bytes(Bytes size, int gpus, int part) {
  const std::int64_t vectors = (size.count + kVector - 1) / kVector;
  const auto before = [&](std::int64_t i) {
    return std::min(size.count, (vectors * i + gpus - 1) / gpus * kVector);
  };
  return {before(part + 1) - before(part)};
}

void StageBuilder::barrier() {
  KernelStage& stage = stages_.emplace_back();
  visit_pairs(gpus_, [&](int from, int to) {
    stage.moves.push_back({from, to, MoveKind::flag, kFlag, Payload::none, 0, 0});
  });
}

void StageBuilder::go_over(Bytes bytes, std::int64_t turns) {
  KernelStage& stage = stages_.emplace_back();
  stage.local = bytes;
  stage.turns = turns;
}

/// Loads of `moves`: their requests first, which go the other way.
void StageBuilder::load(std::vector<KernelMove> moves) {
  KernelStage& requests = stages_.emplace_back();
  for (const KernelMove& move : moves)
    requests.moves.push_back(
        {move.to, move.from, MoveKind::request, kRequest, Payload::none, 0, 0});
  stages_.emplace_back().moves = std::move(moves);
}

void StageBuilder::load_inputs() {
  std::vector<KernelMove> moves;
  visit_pairs(gpus_, [&](int from, int to) {
    moves.push_back({from, to, MoveKind::load, size_, Payload::input, 0, gpus_});
  });
  load(std::move(moves));
}

void StageBuilder::store_inputs(MoveKind kind) {
  KernelStage& stage = stages_.emplace_back();
  visit_pairs(gpus_, [&](int from, int to) {
    stage.moves.push_back({from, to, kind, wire_bytes(size_, kind), Payload::input, 0, gpus_});
  });
}

void StageBuilder::add_part(std::vector<KernelMove>& moves, int from, int to, int part,
                            MoveKind kind, Payload payload) const {
  const Bytes bytes = wire_bytes(part_bytes(size_, gpus_, part), kind);
  if (bytes.count > 0) moves.push_back({from, to, kind, bytes, payload, part, 1});
}

std::vector<KernelMove> StageBuilder::shares(MoveKind kind) const {
  std::vector<KernelMove> moves;
  visit_pairs(gpus_,
              [&](int from, int to) { add_part(moves, from, to, to, kind, Payload::input); });
  return moves;
}

void StageBuilder::load_shares() { load(shares(MoveKind::load)); }
void StageBuilder::store_shares(MoveKind kind) { stages_.emplace_back().moves = shares(kind); }

void StageBuilder::to_root(int root, MoveKind kind) {
  KernelStage& stage = stages_.emplace_back();
  for (int from = 0; from < gpus_; ++from)
    if (from != root) add_part(stage.moves, from, root, from, kind, Payload::input);
}

void StageBuilder::from_root(int root, MoveKind kind) {
  KernelStage& stage = stages_.emplace_back();
  for (int to = 0; to < gpus_; ++to)
    if (to != root) add_part(stage.moves, root, to, to, kind, Payload::input);
}

void StageBuilder::store_parts(Payload payload, MoveKind kind) {
  KernelStage& stage = stages_.emplace_back();
  visit_pairs(gpus_,
              [&](int from, int to) { add_part(stage.moves, from, to, from, kind, payload); });
}

/// What a thread stores may be what it loads next, for all the compiler knows: so it loads from
/// one peer after another (vLLM, csrc/custom_all_reduce.cuh, cross_device_reduce_2stage).
void StageBuilder::load_sums_in_turn() {
  for (int i = 1; i < gpus_; ++i) {
    std::vector<KernelMove> moves;
    for (int to = 0; to < gpus_; ++to) {
      const int from = (to + i) % gpus_;
      add_part(moves, from, to, from, MoveKind::load, Payload::sum);
    }
    load(std::move(moves));
  }
}

/// What the switches do is spread evenly over the pairs: of a link only its bytes count.
void StageBuilder::in_switches(MoveKind kind, Bytes bytes, Payload payload, Parts parts) {
  KernelStage& stage = stages_.emplace_back();
  const Bytes share{wire_bytes(bytes, kind).count / (gpus_ - 1)};
  visit_pairs(gpus_, [&](int from, int to) {
    KernelMove move{from, to, kind, share, payload, 0, gpus_};
    if (parts != Parts::all) {
      move.first_part = parts == Parts::senders ? from : to;
      move.parts = 1;
    }
    stage.moves.push_back(move);
  });
}

void StageBuilder::sum_in_switch() {
  in_switches(MoveKind::one_way, size_, Payload::input, Parts::receivers);
}

void StageBuilder::multicast_parts(MoveKind kind) {
  in_switches(kind, size_, Payload::input, Parts::senders);
}

void StageBuilder::multicast_inputs(MoveKind kind) {
  in_switches(kind, size_ * gpus_, Payload::input, Parts::all);
}

/// The sums are known when all of the message has gone out, and come in at the same time: bytes of
/// both are those of the first stage.
void StageBuilder::sum_and_multicast() {
  const Bytes both{size_.count + size_.count / gpus_};
  in_switches(MoveKind::in_switch, both, Payload::input, Parts::receivers);
  in_switches(MoveKind::in_switch, {0}, Payload::sum, Parts::senders);
}

}  // namespace fabricast
