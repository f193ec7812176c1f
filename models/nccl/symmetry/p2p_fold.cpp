#include "models/nccl/symmetry/p2p_fold.hpp"

namespace fabricast {

std::string against_p2p_fold(const CollectiveRun& run) {
  if (run.traffic != nullptr) return "messages differ in size";
  return has_root(run.collective) ? "the root is unlike other ranks" : "";
}

bool crosses_nics(const P2pNics& nics, const Members& members, int channels) {
  const int gpus = members.gpus_per_node();
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      for (int channel = 0; channel < channels; ++channel)
        if (nics.exit(from, to, channel).nic != nics.entry(to, channel)) return true;
    }
  }
  return false;
}

P2pCopies::P2pCopies(const Cluster& cluster, const Fold* fold, SimulatedLinks* links,
                     const Members& members, int channels)
    : all_ranks_(static_cast<std::uint32_t>(members.ranks())) {
  const int nodes = fold != nullptr ? fold->nodes : members.node_count();
  ranks_.period = static_cast<std::uint32_t>(nodes * members.gpus_per_node());
  blocks_.period = ranks_.period * static_cast<std::uint32_t>(channels);
  if (links == nullptr) {
    ranks_.copies = blocks_.copies = all_ranks_ / ranks_.period;
    return;
  }
  link_ids_.resize(cluster.links());
  for (std::uint32_t id = 0; id < cluster.links(); ++id) {
    const int ahead = cluster.first_node_of(LinkId{id}) - fold->first;
    const bool is_aside = ahead < 0 || ahead / fold->step >= fold->copies;
    if (!is_aside) link_ids_[id] = (*links)(LinkId{id});
  }
}

}  // namespace fabricast
