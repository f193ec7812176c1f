#include "models/engines/kernel_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "models/nccl/call/transport.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t kUnit = 64;   // bytes of payload whose headers are counted together
constexpr std::uint32_t kSlots = 8;  // pieces of a window that are under way
constexpr std::int64_t kGrain = 128;

/// Packets of which so large a share is payload.
WireFormat wire_of(double share) {
  return {kUnit, std::llround(static_cast<double>(kUnit) / share)};
}

Bytes pieces(Bytes bytes, std::int64_t count) {
  const std::int64_t piece = (bytes.count + count - 1) / count;
  return {std::max(kGrain, (piece + kGrain - 1) / kGrain * kGrain)};
}

Bytes times(Bytes bytes, double factor) {
  return {std::llround(static_cast<double>(bytes.count) * factor)};
}

/// What a kernel has under way from one peer.
Bytes window_of(const EngineCosts& costs, EngineKernel kernel) {
  switch (kernel) {
    case EngineKernel::pull:
    case EngineKernel::fused:
    case EngineKernel::symmetric:
      return times(costs.window, costs.pull_window);
    case EngineKernel::scatter:
      return times(costs.window, costs.scatter_window);
    default:
      return costs.window;
  }
}

std::uint32_t number(MoveKind kind) { return static_cast<std::uint32_t>(kind); }

}  // namespace

KernelSchedule::KernelSchedule(const Cluster& cluster, const Members& members,
                               const EngineCosts& costs, const EngineGpu& gpu, EngineKernel kernel,
                               Bytes size)
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
  add_kinds(costs, gpu, wire);
  for (const KernelStage& stage : plan_kernel(kernel, gpus_, size))
    add_stage(stage, costs, gpu, window_of(costs, kernel));
}

/// What a hop or a load takes beyond the latency of the links.
void KernelSchedule::add_kinds(const EngineCosts& costs, const EngineGpu& gpu, Duration wire) {
  const auto beyond = [&](Duration time) { return std::max(Duration{}, time - wire); };
  const Duration half{gpu.load.ps / 2};
  kinds_.resize(5);
  kinds_[number(MoveKind::flag)].sync = beyond(gpu.hop);
  kinds_[number(MoveKind::request)].sync = beyond(half);
  kinds_[number(MoveKind::load)] = {wire_of(costs.loads), {}, beyond(gpu.load - half), {}, {}};
  kinds_[number(MoveKind::store)] = {wire_of(costs.stores), {}, beyond(gpu.hop), {}, {}};
  kinds_[number(MoveKind::in_switch)] = {wire_of(costs.multimem), {}, beyond(half), {}, {}};
}

void KernelSchedule::add_stage(const KernelStage& stage, const EngineCosts& costs,
                               const EngineGpu& gpu, Bytes window) {
  std::vector<ExchangeBatch> now(static_cast<std::size_t>(gpus_));
  for (const KernelMove& move : stage.moves) {
    ExchangeLane lane;
    lane.kind = number(move.kind);
    lane.bytes = move.bytes;
    lane.slots = kSlots;
    // Stores do not wait for anybody; of loads a window is under way.
    const Bytes under_way = move.kind == MoveKind::load ? std::min(window, move.bytes) : move.bytes;
    lane.chunk = pieces(under_way, kSlots);
    lane.tag = static_cast<std::uint32_t>(batches_.front().size());
    lane.peer = static_cast<std::uint32_t>(move.from);
    now[static_cast<std::size_t>(move.to)].receives.push_back(lane);
    lane.peer = static_cast<std::uint32_t>(move.to);
    std::vector<ExchangeLane>& sends = now[static_cast<std::size_t>(move.from)].sends;
    if (move.kind == MoveKind::flag || move.kind == MoveKind::store)
      lane.extra = costs.peer * std::ssize(sends);
    sends.push_back(lane);
  }
  for (std::size_t gpu_number = 0; gpu_number < now.size(); ++gpu_number) {
    ExchangeBatch& batch = now[gpu_number];
    if (stage.local.count > 0) batch.copies.push_back({stage.local, gpu.local});
    if (batch.sends.empty() && batch.receives.empty() && batch.copies.empty())
      batch.copies.push_back({{}, gpu.local});
    batches_[gpu_number].push_back(std::move(batch));
  }
}

bool KernelSchedule::next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const {
  const std::vector<ExchangeBatch>& own = batches_[block];
  if (cursor == own.size()) return false;
  batch = own[cursor++];
  return true;
}

void KernelSchedule::way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const {
  way = {};
  way.near = links_[static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + lane.peer];
}

}  // namespace fabricast
