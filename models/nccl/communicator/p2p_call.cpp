#include "models/nccl/communicator/p2p_call.hpp"

#include <fmt/format.h>

#include <cassert>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

constexpr int kThreads = 640;  ///< of a block of sends and receives

}  // namespace

P2pPlan p2p_plan(const Communicator& communicator) {
  if (!communicator.joined.empty()) return p2p_plan(communicator.joined.front());
  const NcclTopology& topology = communicator.graphs.topology;
  if (topology.domains() > 1) {
    throw Error(
        "the GPUs of a host fall apart into groups that NCCL joins by the network; what it settles "
        "for sends and receives then is not known here",
        "NCCL_P2P_DISABLE, NCCL_P2P_LEVEL and NCCL_SHM_DISABLE do that; NCCL_NET_DISABLE_INTRA=1 "
        "keeps a node together");
  }
  if (communicator.lacks_gdr && communicator.nodes > 1)
    throw Error("sends and receives are not simulated where some nodes have no GPUDirect RDMA",
                "NCCL_NET_GDR_LEVEL=LOC takes it from all of them");
  constexpr std::int64_t kChunkMin = 512;  // an eighth of it still holds a line of LL
  if (communicator.p2p.chunk.count < kChunkMin) {
    throw Error(fmt::format("sends and receives in chunks of {} bytes: at least {} are needed",
                            communicator.p2p.chunk.count, kChunkMin),
                "NCCL_P2P_NET_CHUNKSIZE, NCCL_P2P_NVL_CHUNKSIZE and NCCL_P2P_PCI_CHUNKSIZE set "
                "them, NCCL_BUFFSIZE / 8 limits them");
  }
  const P2pSettings& settings = communicator.settings.p2p;
  P2pPlan plan;
  plan.rules.version = communicator.version;
  plan.rules.several_nodes = communicator.nodes > 1;
  plan.rules.ranks = communicator.ranks;
  plan.rules.channels = communicator.p2p;
  plan.rules.ll_threshold = settings.ll_threshold;
  plan.rules.ll_over_net = settings.ll_over_net;
  plan.rules.buffers = communicator.settings.buffers;
  plan.group_size = settings.group_size;
  plan.shared_buffers = settings.shared_buffers;
  if (communicator.nodes > 1)
    plan.nics = P2pNics(topology, communicator.p2p.channels, settings.pxn_level);
  return plan;
}

DecidedCall decide_p2p_call(const Communicator& communicator, const Call& call) {
  assert(!is_tuned(call.collective));
  if (!communicator.joined.empty()) return decide_p2p_call(communicator.joined.front(), call);
  DecidedCall out;
  CollectiveRun& run = out.run;
  run.version = communicator.version;
  run.collective = call.collective;
  run.count = call.count;
  run.element_bytes = call.element_bytes;
  run.root = call.root;
  run.calls = call.calls;
  run.members = communicator.members;
  run.threads = kThreads;
  run.buffers = communicator.settings.buffers;
  run.transport = transport_rules(communicator, run);
  run.p2p = p2p_plan(communicator);
  run.channels = run.communicator_channels = communicator.p2p.channels;
  run.protocol = p2p_cut(run, communicator.ranks, communicator.nodes > 1)->part.protocol;
  return out;
}

std::optional<P2pCut> p2p_cut(const CollectiveRun& run, int ranks, bool remote) {
  const bool alone = run.members.gpus_per_node() == 1;
  if (remote ? !run.p2p.rules.several_nodes : alone && ranks > 1) return std::nullopt;
  return message_cut(run, remote);
}

}  // namespace fabricast
