#include "models/nccl/ring_links.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

const std::vector<int>& chain_of(const ChannelGraph& ring, int channel, int node,
                                 NcclVersion version) {
  const int searched = ring_search_channel(ring, channel, node, version);
  return ring.channels[static_cast<std::size_t>(searched)].gpu_order;
}

}  // namespace

int ring_search_channel(const ChannelGraph& ring, int channel, int node, NcclVersion version) {
  const int searched = channel % ring.channel_count();
  const bool crosses = version < kNccl2_27 ? ring.cross_nic != 0 : ring.cross_nic == 2;
  const bool swap = crosses && ring.channel_count() % 2 == 0 && node % 2 == 1;
  return swap ? searched ^ 1 : searched;
}

GlobalRing global_ring(const ChannelGraph& ring, int nodes, int channel, NcclVersion version) {
  assert(nodes >= 1 && !ring.channels.empty());
  const int gpus = ring.gpus();
  GlobalRing out;
  out.ranks.reserve(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(gpus));
  for (int node = 0; node < nodes; ++node) {
    const std::vector<int>& chain = chain_of(ring, channel, node, version);
    for (const int gpu : chain) out.ranks.push_back(node * gpus + gpu);
    if (nodes == 1) break;
    const int next = (node + 1) % nodes;
    const int leaving = chain.back();
    const int entered = chain_of(ring, channel, next, version).front();
    out.crossings.push_back({node, node * gpus + leaving, nic_of(ring, channel, leaving), next,
                             next * gpus + entered, nic_of(ring, channel, entered)});
  }
  std::rotate(out.ranks.begin(), std::ranges::find(out.ranks, 0), out.ranks.end());
  return out;
}

}  // namespace fabricast
