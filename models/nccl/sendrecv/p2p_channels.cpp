#include "models/nccl/sendrecv/p2p_channels.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

namespace fabricast {
namespace {

int power_of_two_from(int n) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(n, 1))));
}

/// NICs that it takes to use up a GPU's link to its host, and their bandwidth, GB/s.
struct NetNeed {
  int count = 0;
  float bw = 0;
};

class P2p {
 public:
  P2p(const NcclTopology& topology, const P2pInput& input, const NcclSettings& settings)
      : topology_(topology), in_(input), settings_(settings.p2p) {}

  int channels() const {
    return std::max(std::min(in_.communicator_channels, settings_.channels_max),
                    settings_.channels_min);
  }

  /// The least over all pairs of a GPU here and a rank anywhere.
  int per_peer(int at_most) const {
    int least = at_most;
    const std::span<const TopoVertexId> gpus = topology_.graph().all(TopoKind::gpu);
    const bool has_remote = in_.ranks > static_cast<int>(gpus.size());
    for (const TopoVertexId gpu : gpus) {
      for (const TopoVertexId peer : gpus) {
        if (peer != gpu) least = std::min(least, local(gpu, peer));
      }
      if (has_remote) least = std::min(least, remote(gpu));
    }
    return power_of_two_from(least);
  }

 private:
  bool is_2_30() const { return topology_.version() >= kNccl2_30; }
  /// As many channels as NICs need, instead of two or so (NCCL_P2P_PER_CHANNEL_NET_BW).
  bool counts_nets() const { return topology_.version() >= kNccl2_29; }

  int local(TopoVertexId gpu, TopoVertexId peer) const {
    const NcclPath& path = topology_.path(peer, gpu);
    const bool nvlink = path.type == PathType::nvl || (is_2_30() && path.type == PathType::nvb);
    if (!nvlink) return 2;
    const float one = nvlink_bw(topology_.graph().vertex(gpu).gpu.sm, topology_.version());
    return 2 * std::max(1, static_cast<int>(path.bw / one));
  }

  int remote(TopoVertexId gpu) const {
    if (settings_.channels_per_remote) return *settings_.channels_per_remote;
    if (!counts_nets()) {
      if (topology_.version() < kNccl2_20) return 2;
      int most = 2;
      // Eight operations and more on a channel cost it its synchronising warp.
      while (most > 1 && most * in_.ranks > channels() * 4) most /= 2;
      return std::max(nets_for_link(gpu).count, most);
    }
    const NetNeed nets = nets_for_path(gpu);
    if (nets.count == 0) return 2;
    const int bw = static_cast<int>(nets.bw), per_channel = settings_.net_bw_per_channel;
    return std::max(nets.count, (bw + per_channel - 1) / per_channel);
  }

  NetNeed nets_for_link(TopoVertexId gpu) const {
    const NcclGraph& graph = topology_.graph();
    float to_host = 0;
    for (const TopoLinkId id : graph.vertex(gpu).out) {
      const TopoLink& link = graph.link(id);
      if (graph.vertex(link.to).kind == TopoKind::cpu) to_host = link.bw;
    }
    NetNeed need;
    for (const TopoVertexId net : topology_.nearest(gpu, TopoKind::net)) {
      if (need.bw >= to_host) break;
      need.bw += topology_.path(gpu, net).bw;
      ++need.count;
    }
    return need;
  }

  NetNeed nets_for_path(TopoVertexId gpu) const {
    const float to_host = topology_.path(gpu, topology_.local_cpu(gpu)).bw;
    const auto first = topology_.local_net(gpu, 0);
    NetNeed need;
    for (int channel = 0; first && channel < max_channels(topology_.version()); ++channel) {
      const auto net = topology_.local_net(gpu, channel);
      if (channel > 0 && net == first) break;
      need.bw += topology_.path(gpu, *net).bw;
      ++need.count;
      if (need.bw >= to_host) break;
    }
    return need;
  }

  const NcclTopology& topology_;
  const P2pInput& in_;
  const P2pSettings& settings_;
};

Bytes chunk(const NcclTopology& topology, const P2pInput& in, const NcclSettings& settings) {
  const P2pSettings& p = settings.p2p;
  const NcclGraph& graph = topology.graph();
  Bytes wanted = p.net_chunk;
  if (in.nodes > 1) {
    // A host with few GPUs joins less into one message (2.30).
    const bool is_grace = graph.first_cpu().cpu.arch == CpuArch::arm;
    if (topology.version() >= kNccl2_29 && is_grace && in.compute_capability_min >= 100)
      wanted.count *= 2;
  } else {
    // Up to 2.24 NCCL looks at the best pair of GPUs only.
    const bool is_old = topology.version() < kNccl2_25;
    const PathType type =
        is_old ? topology.nearest_type(TopoKind::gpu) : topology.farthest_type(TopoKind::gpu);
    wanted = type < PathType::pix ? p.nvlink_chunk : p.pcie_chunk;
  }
  return {std::min(wanted.count, step_size(Protocol::simple, settings.buffers).count)};
}

}  // namespace

P2pChannels p2p_channels(const NcclTopology& topology, const P2pInput& input,
                         const NcclSettings& settings) {
  const P2p p2p(topology, input, settings);
  const NcclVersion version = topology.version();
  P2pChannels out;
  out.chunk = chunk(topology, input, settings);
  const int wanted = p2p.channels();
  out.channels = power_of_two_from(wanted);
  // What NCCL_WORK_ARGS_BYTES holds, whose default is no limit (ncclDevMaxChannelsForArgsBytes).
  if (version >= kNccl2_22) out.channels = std::min(out.channels, max_channels(version));
  if (version < kNccl2_29) {
    out.per_peer = p2p.per_peer(wanted);
    if (version >= kNccl2_22) out.per_peer = std::min(out.per_peer, out.channels);
    return out;
  }
  out.per_peer = p2p.per_peer(max_channels(version));
  if (input.nodes > 1 && !settings.p2p.channels_per_remote) {
    const int batches = (settings.p2p.peers_max.value_or(input.ranks) + 7) / 8;
    while (out.per_peer > 1 && out.per_peer * batches > out.channels) out.per_peer /= 2;
  } else {
    out.per_peer = std::min(out.per_peer, out.channels);
  }
  return out;
}

}  // namespace fabricast
