#include "models/nccl/symmetry/exchange_places.hpp"

namespace fabricast {

ExchangePlaces::ExchangePlaces(const Cluster& cluster, const Symmetry* symmetry,
                               SimulatedLinks* links, const Members& members, int channels)
    : all_ranks_(static_cast<std::uint32_t>(members.ranks())),
      channels_(static_cast<std::uint32_t>(channels)) {
  const int nodes = symmetry != nullptr ? symmetry->nodes() : members.node_count();
  gpus_ = left_ = static_cast<std::uint32_t>(members.gpus_per_node());
  if (links != nullptr) left_ /= static_cast<std::uint32_t>(symmetry->rails());
  ranks_.period = static_cast<std::uint32_t>(nodes) * left_;
  if (links == nullptr) {
    ranks_.copies = all_ranks_ / ranks_.period;
    return;
  }
  link_ids_.resize(cluster.links());
  for (std::uint32_t id = 0; id < cluster.links(); ++id)
    if (!symmetry->is_aside(cluster, LinkId{id})) link_ids_[id] = (*links)(LinkId{id});
}

}  // namespace fabricast
