#include "models/nccl/peer_kernels/peer_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "models/nccl/call/transport.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t kUnit = 64;   // bytes of payload whose headers are counted together
constexpr std::uint32_t kSlots = 8;  // pieces of a window that are under way
constexpr std::int64_t kGrain = 128;
constexpr std::int64_t kPieceMax = 256 << 10;  // of what nobody waits for
constexpr int kPeersMax = 7;                   // lanes of a batch, one way (Exchange)

/// Packets of which so large a share is payload.
WireFormat wire_of(double share) {
  return {kUnit, std::llround(static_cast<double>(kUnit) / share)};
}

Bytes pieces(Bytes bytes, std::int64_t count) {
  const std::int64_t piece = (bytes.count + count - 1) / count;
  return {std::max(kGrain, (piece + kGrain - 1) / kGrain * kGrain)};
}

std::uint32_t number(MoveKind kind) { return static_cast<std::uint32_t>(kind); }

/// A move, and for how many peers it stands.
struct JointMove {
  KernelMove move;
  int peers = 1;
};

/// What stores of `bytes` to a peer put off those to the next one.
Duration burst_of(const PeerWindows& windows, Bytes bytes) {
  if (bytes >= windows.full) return windows.burst;
  const double share = static_cast<double>(bytes.count) / static_cast<double>(windows.full.count);
  return scaled(windows.burst, share);
}

/// Before the first byte of a message to peers, the last of which is number `nth`. In LL each turn.
Duration waits_of(const PeerWindows& windows, const ExchangeLane& lane, const JointMove& joint,
                  int nth) {
  const KernelMove& move = joint.move;
  if (move.kind == MoveKind::request) return {windows.before.ps / lane.chunks()};
  const Duration burst = burst_of(windows, {move.bytes.count / joint.peers}) * (nth - 1);
  if (move.kind == MoveKind::ll) return burst;
  return move.kind == MoveKind::store ? Duration{burst.ps / lane.chunks()} : Duration{};
}

/// Over all turns of a stage, the waiting for loads included.
Bandwidth local_rate(const KernelStage& stage, Duration turn, Bandwidth memory) {
  if (stage.turns == 0) return memory;
  const Duration time = transfer_time(stage.local, memory) + turn * stage.turns;
  return {
      std::llround(static_cast<double>(stage.local.count) * 1e12 / static_cast<double>(time.ps))};
}

/// Of more peers than a batch has lanes for, neighbours in the order from `from` on are joined:
/// what goes to the first of them is what goes to all. Every GPU sends and receives what it did.
std::vector<JointMove> joined(const KernelStage& stage, int gpus) {
  std::vector<JointMove> out;
  if (gpus - 1 <= kPeersMax) {
    for (const KernelMove& move : stage.moves) out.push_back({move});
    return out;
  }
  const auto group_of = [&](int distance) { return (distance - 1) * kPeersMax / (gpus - 1); };
  std::vector<std::size_t> at(static_cast<std::size_t>(gpus * kPeersMax), SIZE_MAX);
  for (const KernelMove& move : stage.moves) {
    const int group = group_of((move.to - move.from + gpus) % gpus);
    std::size_t& place = at[static_cast<std::size_t>(move.from * kPeersMax + group)];
    if (place == SIZE_MAX) {
      int first = 1;
      while (group_of(first) != group) ++first;
      place = out.size();
      out.push_back({move, 0});
      out.back().move.to = (move.from + first) % gpus;
      out.back().move.bytes = {0};
    }
    out[place].move.bytes += move.bytes;
    ++out[place].peers;
  }
  return out;
}

}  // namespace

PeerSchedule::PeerSchedule(const Cluster& cluster, const Members& members, const PeerCosts& costs,
                           const PeerGpu& gpu, const std::vector<KernelStage>& stages,
                           const PeerWindows& windows)
    : gpus_(members.ranks()),
      batches_(static_cast<std::size_t>(gpus_)),
      links_(static_cast<std::size_t>(gpus_ * gpus_)) {
  Duration wire;
  for (int a = 0; a < gpus_; ++a) {
    for (int b = 0; b < gpus_; ++b) {
      if (a == b) continue;
      const Transport way = plan_transport(cluster, members.gpus(), Protocol::simple,
                                           {members.node(a), members.gpu(a), 0},
                                           {members.node(b), members.gpu(b), 0});
      Duration latency;
      for (const LinkId link : way.into_slots) {
        links_[static_cast<std::size_t>(a * gpus_ + b)].push_back(index_of(link));
        latency += cluster.link(link).latency;
      }
      wire = std::max(wire, latency);
    }
  }
  add_kinds(costs, gpu, wire, windows.ll_read);
  for (const KernelStage& stage : stages) add_stage(stage, costs, gpu, windows);
}

/// What a hop or a load takes beyond the latency of the links.
void PeerSchedule::add_kinds(const PeerCosts& costs, const PeerGpu& gpu, Duration wire,
                             Duration ll_read) {
  const auto beyond = [&](Duration time) { return std::max(Duration{}, time - wire); };
  const Duration half{gpu.load.ps / 2};
  kinds_.resize(kMoveKinds);
  kinds_[number(MoveKind::flag)].sync = beyond(gpu.hop);
  kinds_[number(MoveKind::request)].sync = beyond(half);
  kinds_[number(MoveKind::load)] = {wire_of(costs.loads), {}, beyond(gpu.load - half), {}, {}};
  kinds_[number(MoveKind::store)] = {wire_of(costs.stores), {}, beyond(gpu.hop), {}, {}};
  // A thread stores again when it has seen what its peers stored: a turn is a hop. Of a message
  // between two blocks it is the way there and back.
  const Duration half_turn{(gpu.hop + ll_read).ps / 2};
  kinds_[number(MoveKind::ll)] = {wire_of(costs.stores), {}, beyond(half_turn), {}, {}};
  kinds_[number(MoveKind::in_switch)] = {wire_of(costs.multimem), {}, beyond(half), {}, {}};
  kinds_[number(MoveKind::one_way)] = {wire_of(1), {}, beyond(half), {}, {}};
  kinds_[number(MoveKind::copy)] = {wire_of(costs.stores), {}, beyond(gpu.hop), {}, {}};
}

void PeerSchedule::add_stage(const KernelStage& stage, const PeerCosts& costs, const PeerGpu& gpu,
                             const PeerWindows& windows) {
  std::vector<ExchangeBatch> now(static_cast<std::size_t>(gpus_));
  std::vector<int> peers(static_cast<std::size_t>(gpus_));  // that a GPU has spoken to
  const auto under_way = [&](const KernelMove& move, int of) {
    if (move.kind == MoveKind::load) return std::min(windows.loads * of, move.bytes);
    if (move.kind == MoveKind::ll) return std::min(windows.ll * of, move.bytes);
    return std::min(move.bytes, Bytes{kPieceMax * kSlots});
  };
  for (const JointMove& joint : joined(stage, gpus_)) {
    const KernelMove& move = joint.move;
    ExchangeLane lane;
    lane.kind = number(move.kind);
    lane.bytes = move.bytes;
    // A thread of LL stores, polls what its peers have stored, and only then stores again.
    lane.slots = move.kind == MoveKind::ll ? 1 : kSlots;
    lane.chunk = pieces(under_way(move, joint.peers), lane.slots);
    lane.tag = static_cast<std::uint32_t>(batches_.front().size());
    lane.peer = static_cast<std::uint32_t>(move.from);
    now[static_cast<std::size_t>(move.to)].receives.push_back(lane);
    lane.peer = static_cast<std::uint32_t>(move.to);
    int& before = peers[static_cast<std::size_t>(move.from)];
    before += joint.peers;
    if (move.kind == MoveKind::flag || move.kind == MoveKind::store || move.kind == MoveKind::ll)
      lane.extra = costs.peer * (before - 1);
    lane.extra += waits_of(windows, lane, joint, before);
    now[static_cast<std::size_t>(move.from)].sends.push_back(lane);
  }
  for (std::size_t gpu_number = 0; gpu_number < now.size(); ++gpu_number) {
    ExchangeBatch& batch = now[gpu_number];
    if (stage.local.count > 0)
      batch.copies.push_back({stage.local, local_rate(stage, cycles(costs.turn, gpu), gpu.local)});
    if (batch.sends.empty() && batch.receives.empty() && batch.copies.empty())
      batch.copies.push_back({{}, gpu.local});
    batches_[gpu_number].push_back(std::move(batch));
  }
}

bool PeerSchedule::next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const {
  const std::vector<ExchangeBatch>& own = batches_[block];
  if (cursor == own.size()) return false;
  batch = own[cursor++];
  return true;
}

void PeerSchedule::way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const {
  way = {};
  way.near = links_[static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + lane.peer];
}

}  // namespace fabricast
