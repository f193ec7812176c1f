#include "models/nccl/wiring/ring_links.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

int ring_search_channel(const ChannelGraph& ring, int channel, int node, int nodes,
                        NcclVersion version) {
  const int searched = channel % ring.channel_count();
  const bool crosses = version < kNccl2_26 ? ring.cross_nic != 0 : ring.cross_nic == 2;
  // 2.19 does not swap, 2.20 only where the nodes are even in number.
  const bool may_swap = version >= kNccl2_21 || (version >= kNccl2_20 && nodes % 2 == 0);
  const bool swap = may_swap && crosses && ring.channel_count() % 2 == 0 && node % 2 == 1;
  return swap ? searched ^ 1 : searched;
}

RingOrder::RingOrder(const ChannelGraph& ring, int nodes, int channel, NcclVersion version)
    : ring_(ring),
      nodes_(nodes),
      channel_(channel),
      version_(version),
      ranks_(static_cast<std::uint32_t>(nodes * ring.gpus())),
      gpus_(static_cast<std::uint32_t>(ring.gpus())) {
  assert(nodes >= 1 && !ring.channels.empty());
  first_ = static_cast<std::uint32_t>(std::ranges::find(chain(0), 0) - chain(0).begin());
}

const std::vector<int>& RingOrder::chain(int node) const {
  const int searched = ring_search_channel(ring_, channel_, node, nodes_, version_);
  return ring_.channels[static_cast<std::size_t>(searched)].gpu_order;
}

int RingOrder::rank(std::uint32_t index) const {
  const std::uint32_t place = (index + first_) % ranks_;
  const auto node = static_cast<int>(place / gpus_);
  return node * static_cast<int>(gpus_) + chain(node)[place % gpus_];
}

std::uint32_t RingOrder::index(int rank) const {
  const auto gpus = static_cast<int>(gpus_);
  const std::vector<int>& order = chain(rank / gpus);
  const auto place = std::ranges::find(order, rank % gpus) - order.begin();
  return (static_cast<std::uint32_t>(rank / gpus * gpus + place) + ranks_ - first_) % ranks_;
}

NodeCrossing RingOrder::crossing(int node) const {
  const auto gpus = static_cast<int>(gpus_);
  const int next = (node + 1) % nodes_;
  const int leaving = chain(node).back(), entered = chain(next).front();
  return {node, node * gpus + leaving, nic_of(ring_, channel_, leaving),
          next, next * gpus + entered, nic_of(ring_, channel_, entered)};
}

GlobalRing global_ring(const ChannelGraph& ring, int nodes, int channel, NcclVersion version) {
  const RingOrder order(ring, nodes, channel, version);
  GlobalRing out;
  for (std::uint32_t i = 0; i < order.ranks(); ++i) out.ranks.push_back(order.rank(i));
  for (int node = 0; nodes > 1 && node < nodes; ++node)
    out.crossings.push_back(order.crossing(node));
  return out;
}

}  // namespace fabricast
