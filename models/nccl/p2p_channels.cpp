#include "models/nccl/p2p_channels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fabricast {
namespace {

constexpr int kArgumentChannels = 32;  // 2.22+: what 4 KiB of kernel arguments have room for
constexpr float kChannelBw = 14;       // 2.30: GB/s of a network peer per channel

int power_of_two_from(int count) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
}

int to_local_peer(const NcclTopology& topology, TopoVertexId gpu, TopoVertexId peer) {
  const NcclPath& path = topology.path(peer, gpu);
  if (path.type != PathType::nvl) return 2;
  const float link = nvlink_bw(topology.graph().vertex(gpu).gpu.sm, topology.version());
  return 2 * std::max(1, static_cast<int>(path.bw / link));
}

/// Local NICs that a GPU's link to its CPU can feed.
int nets_fed_by_cpu_link(const NcclTopology& topology, TopoVertexId gpu) {
  const NcclGraph& graph = topology.graph();
  float gpu_bw = 0, net_bw = 0;
  for (const TopoLinkId link : graph.vertex(gpu).out) {
    if (graph.vertex(graph.link(link).to).kind == TopoKind::cpu) gpu_bw = graph.link(link).bw;
  }
  int count = 0;
  for (const TopoVertexId net : topology.nearest(gpu, TopoKind::net)) {
    if (net_bw >= gpu_bw) break;
    net_bw += topology.path(gpu, net).bw;
    ++count;
  }
  return count;
}

int to_remote_peer(const NcclTopology& topology, TopoVertexId gpu, int ranks, int channels) {
  const std::vector<TopoVertexId> nets = topology.nearest(gpu, TopoKind::net);
  if (topology.version() >= kNccl2_30) {
    const float bw = nets.empty() ? 0 : topology.graph().vertex(nets.front()).net.bw;
    return std::max(
        {1, static_cast<int>(nets.size()), static_cast<int>(std::ceil(bw / kChannelBw))});
  }
  // Eight operations on a channel cost it a warp that synchronises.
  int count = 2;
  while (count * ranks > channels * 4 && count > 1) count /= 2;
  return std::max(count, nets_fed_by_cpu_link(topology, gpu));
}

/// The least that any pair of ranks wants.
int least_per_peer(const NcclTopology& topology, int ranks, int channels) {
  const std::span<const TopoVertexId> gpus = topology.graph().all(TopoKind::gpu);
  int least = channels;
  for (const TopoVertexId gpu : gpus) {
    for (const TopoVertexId peer : gpus) {
      if (peer != gpu) least = std::min(least, to_local_peer(topology, gpu, peer));
    }
    if (static_cast<int>(gpus.size()) < ranks)
      least = std::min(least, to_remote_peer(topology, gpu, ranks, channels));
  }
  return least;
}

}  // namespace

P2pChannels p2p_channels(const NcclTopology& topology, const P2pChannelInput& input) {
  const bool many_nodes = topology.graph().count(TopoKind::gpu) < input.ranks;
  P2pChannels out;
  out.all = power_of_two_from(input.channels);
  if (topology.version() >= kNccl2_22) out.all = std::min(out.all, kArgumentChannels);
  out.per_peer =
      power_of_two_from(least_per_peer(topology, input.ranks, std::min(input.channels, out.all)));
  if (topology.version() >= kNccl2_30 && many_nodes) {
    const int rounds = (input.ranks + 7) / 8;
    while (out.per_peer > 1 && out.per_peer * rounds > out.all) out.per_peer /= 2;
  }
  // 2.21 looks at the nearest pair where it means all of them.
  const PathType pair = topology.version() < kNccl2_22 ? topology.nearest_type(TopoKind::gpu)
                                                       : topology.farthest_type(TopoKind::gpu);
  const std::int64_t chunk = !many_nodes && pair < PathType::pix ? 512 << 10 : 128 << 10;
  out.chunk = Bytes{std::min(chunk, input.simple_buffer.count / 8)};
  return out;
}

}  // namespace fabricast
