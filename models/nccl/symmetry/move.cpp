#include "models/nccl/symmetry/move.hpp"

#include <algorithm>
#include <tuple>

namespace fabricast {
namespace {

/// Below one SHARP tree: as if nodes and leaves were the first ones.
LinkId below_first(const Cluster& cluster, LinkId link, int first) {
  const int whole = cluster.is_trunk(link) ? cluster.nodes_per_leaf() : 1;
  return cluster.moved_back(link, cluster.first_node_of(link) - first / whole * whole);
}

/// On the rail that is simulated.
LinkId on_rail(const Cluster& cluster, LinkId id, const Move& move) {
  if (!cluster.is_fabric_link(id)) {
    const auto links = static_cast<std::uint32_t>(cluster.node().links().size());
    const std::uint32_t local = index_of(id) % links;
    return LinkId{index_of(id) - local + move.link[local]};
  }
  const Cluster::FabricEnd from = cluster.link_from(id), to = cluster.link_to(id);
  if (!from.is_switch) return LinkId{index_of(id) - from.rail + move.rail[from.rail]};
  if (!to.is_switch) return LinkId{index_of(id) - to.rail + move.rail[to.rail]};
  const FabricSwitch& leaf = from.which.tier == SwitchTier::leaf ? from.which : to.which;
  if (leaf.tier != SwitchTier::leaf) return id;  // to a core: no run whose rails move comes there
  const std::uint32_t plane = leaf.index / static_cast<std::uint32_t>(cluster.leaves_per_plane());
  return cluster.moved_back(id, static_cast<int>(plane - move.rail[plane]) *
                                    cluster.leaves_per_plane() * cluster.nodes_per_leaf());
}

}  // namespace

bool Move::is_like(const Move& other) const {
  Move same = other;
  same.lane = lane;
  if (gpu.empty()) same.gpus = gpus;
  return *this == same;
}

BlockPlace Move::moved(BlockPlace place) const {
  int node = place.rank / gpus, local = place.rank % gpus;
  if (period > 0) node = (node + period) % nodes;
  if (reverses) node = nodes - 1 - node;
  if (!gpu.empty()) local = gpu[static_cast<std::size_t>(local)];
  return {lane.empty() ? place.lane : lane[place.lane], node * gpus + local};
}

BlockPlace Move::representative(BlockPlace place) const {
  if (period > 0) return {place.lane, place.rank % (period * gpus)};
  const auto order = [this](BlockPlace at) {
    return std::tuple(at.rank / gpus, at.lane, at.rank % gpus);
  };
  BlockPlace least = place;
  for (int copy = 1; copy < copies; ++copy) {
    place = moved(place);
    if (order(place) < order(least)) least = place;
  }
  return least;
}

int Move::representative(int rank) const {
  int node = rank / gpus, local = rank % gpus;
  if (period > 0) node %= period;
  if (reverses) node = std::min(node, nodes - 1 - node);
  for (int copy = 1, at = local; !gpu.empty() && copy < copies; ++copy)
    local = std::min(local, at = gpu[static_cast<std::size_t>(at)]);
  return node * gpus + local;
}

LinkId Move::representative(const Cluster& cluster, LinkId id) const {
  if (sharp) return below_first(cluster, id, first);
  if (period > 0 && !trunk.empty() && cluster.is_trunk(id)) {  // others stay
    const auto like = trunk.find(index_of(id));
    return like == trunk.end() ? id : LinkId{like->second};
  }
  if (period > 0) return cluster.moved_back(id, (cluster.first_node_of(id) - first) / step * step);
  if (!reverses) return on_rail(cluster, id, *this);
  if (cluster.is_trunk(id)) return LinkId{trunk.at(index_of(id))};
  const int at = cluster.first_node_of(id);
  const auto found = image.find(at);
  return found == image.end() ? id : cluster.moved_back(id, at - found->second);
}

bool Move::is_aside(const Cluster& cluster, LinkId id) const {
  if (step == 0) return false;
  const int ahead = cluster.first_node_of(id) - first;
  return ahead < 0 || ahead / step >= copies;
}

}  // namespace fabricast
