#include "models/nccl/registered/registered_run.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/nccl/registered/symmetric_loop.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

using Kernel = SymmetricKernel;

constexpr std::int64_t kLlBytes = 16;  // of a thread's store: 8 B and their flags
constexpr std::int64_t kLoadBytes = 16;
// Stores to a peer that put off those to the next one, as on the wire: measured times stop to rise
// there, of LL where a thread block's turn is full.
constexpr Bytes kLlBurst{8 << 10}, kStoreBurst{16 << 10};

void add_symmetric(StageBuilder& stages, Kernel kernel) {
  const Bytes all = stages.size(), every = all * stages.gpus();
  switch (kernel) {
    case Kernel::reduce_ll:
      stages.store_inputs(MoveKind::ll);
      stages.go_over(every * 2);  // what has come, with its flags
      return;
    case Kernel::reduce_llmc:
      stages.multicast_inputs(MoveKind::ll);
      stages.go_over(every * 2);
      return;
    case Kernel::reduce_ld_st:
      stages.barrier();
      stages.load_shares();
      stages.store_parts(Payload::sum);
      stages.barrier();
      return;
    case Kernel::reduce_mc:
      stages.barrier();
      stages.sum_and_multicast();
      stages.barrier();
      return;
    case Kernel::gather_ll:
      stages.store_parts(Payload::input, MoveKind::ll);
      stages.go_over(all * 2);
      return;
    case Kernel::gather_llmc:
      stages.multicast_parts(MoveKind::ll);
      stages.go_over(all * 2);
      return;
    case Kernel::gather_st:
      stages.barrier();
      stages.store_parts(Payload::input);
      stages.barrier();
      return;
    case Kernel::gather_stmc:
      stages.barrier();
      stages.multicast_parts();
      stages.barrier();
      return;
    case Kernel::scatter_ll:
      stages.store_shares(MoveKind::ll);
      stages.go_over(all * 2);
      return;
    case Kernel::scatter_ld:
      stages.barrier();
      stages.load_shares();
      stages.barrier();
      return;
    case Kernel::scatter_ldmc:
      stages.barrier();
      stages.sum_in_switch();
      stages.barrier();
      return;
    case Kernel::gather_rail:
    case Kernel::scatter_rail_ld:
    case Kernel::scatter_rail_ldmc:
      break;
  }
  assert(false);
}

/// NVLS on users' buffers moves what the kernels with multicast do.
Kernel like_nvls(Collective collective) {
  if (collective == Collective::all_gather) return Kernel::gather_stmc;
  if (collective == Collective::reduce_scatter) return Kernel::scatter_ldmc;
  return Kernel::reduce_mc;
}

void add_copies(StageBuilder& stages, Collective collective, int root) {
  stages.barrier();
  switch (collective) {
    case Collective::all_gather:
      stages.store_parts(Payload::input, MoveKind::copy);
      break;
    case Collective::gather:
      stages.to_root(root, MoveKind::copy);
      break;
    case Collective::scatter:
      stages.from_root(root, MoveKind::copy);
      break;
    default:
      stages.store_shares(MoveKind::copy);
  }
  stages.barrier();
}

PeerWindows windows_of(const PeerCosts& costs, const PeerGpu& gpu, const RegisteredCall& call,
                       int gpus) {
  const std::int64_t threads = std::int64_t{call.choice.blocks} * kSymmetricThreads;
  const std::int64_t peers = gpus - 1;
  const auto loads = static_cast<double>(threads * kLoadBytes) * costs.unrolled;
  PeerWindows out{{std::llround(loads / static_cast<double>(peers))}, {threads * kLlBytes}};
  if (call.choice.path != RegisteredPath::symmetric) return out;
  const SymmetricLoop loop{call.choice.kernel, gpus, call.size, call.choice.blocks};
  const auto before = static_cast<double>(gpu.load.ps * (rounds_of_loads(loop) - 1)) * costs.round;
  out.before = {std::llround(before)};
  out.ll_read = scaled(costs.ll_read, rounds_of_reads(loop));
  // What is multicast comes back to the GPU itself, too, and is spread over one peer less.
  if (traits_of(call.choice.kernel).multicasts) {
    out.ll = {out.ll.count * gpus / peers};
    return out;  // stored once
  }
  out.burst = costs.burst;
  out.full = traits_of(call.choice.kernel).ll ? kLlBurst : kStoreBurst;
  return out;
}

/// Before the first byte moves.
Duration start_of(const PeerCosts& costs, const PeerGpu& gpu, const GpuPart& part,
                  const SoftwareCosts& software, const RegisteredChoice& choice, Duration ll_read) {
  switch (choice.path) {
    case RegisteredPath::symmetric:
      // Half a turn of LL is paid for once: the other half is in every turn.
      return traits_of(choice.kernel).ll ? gpu.start + Duration{(gpu.hop + ll_read).ps / 2}
                                         : gpu.start;
    case RegisteredPath::copy_engine:
      return costs.node + costs.copy * 3;  // flags, copies, flags
    default:
      return software.launch(Protocol::simple, part);
  }
}

}  // namespace

std::vector<KernelStage> plan_registered(const RegisteredChoice& choice, Collective collective,
                                         int gpus, Bytes size, int root) {
  assert(choice.replaces() && choice.untimed.empty() && gpus >= 2 && size.count > 0);
  StageBuilder stages(gpus, size);
  if (choice.path == RegisteredPath::copy_engine)
    add_copies(stages, collective, root);
  else
    add_symmetric(stages,
                  choice.path == RegisteredPath::symmetric ? choice.kernel : like_nvls(collective));
  return stages.take();
}

CollectiveRun in_place_run(CollectiveRun plain, const RegisteredChoice& choice) {
  assert(choice.path == RegisteredPath::nvls);
  plain.channels = std::min(plain.channels, choice.blocks);
  return plain;
}

SimulationResult simulate_registered(const Cluster& cluster, const Members& members,
                                     const PeerCosts& costs, const SoftwareCosts& software,
                                     const RegisteredCall& call, bool explain) {
  assert(members.node_count() == 1);
  const GpuPart& part = cluster.node().gpus().front().part;
  const PeerGpu& gpu = costs_of(costs, part.sm);
  PeerCosts reach = costs;
  reach.loads = costs.stores;  // loads of NCCL's kernels reach what stores do
  const PeerWindows windows = windows_of(costs, gpu, call, members.ranks());
  SimulationResult out = simulate_stages(
      cluster, members, reach, gpu,
      plan_registered(call.choice, call.collective, members.ranks(), call.size, call.root), windows,
      explain);
  const Duration makespan = out.time;
  out.time = std::max(makespan + start_of(costs, gpu, part, software, call.choice, windows.ll_read),
                      software.launch_per_gpu * call.launches_in_a_row);
  out.launch = out.time - makespan;
  return out;
}

}  // namespace fabricast
