#include "models/nccl/symmetry/simulated_links.hpp"

namespace fabricast {

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster)
    : machine_(machine), cluster_(cluster) {
  for (std::uint32_t link = 0; link < cluster.links(); ++link) add(LinkId{link});
}

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster, const Symmetry& symmetry,
                               bool is_carried)
    : machine_(machine), cluster_(cluster), symmetry_(&symmetry), is_carried_(is_carried) {
  for (std::uint32_t link = 0; is_carried && link < cluster.links(); ++link) add(LinkId{link});
}

std::uint32_t SimulatedLinks::add(LinkId link) {
  const ClusterLink spec = cluster_.link(link);
  return machine_.add_link({spec.rate, spec.latency, spec.lanes, spec.out_of_switch});
}

std::uint32_t SimulatedLinks::operator()(LinkId link) {
  if (symmetry_ == nullptr) return index_of(link);
  const LinkId like = symmetry_->representative(cluster_, link);
  const auto [at, is_new] = known_.try_emplace(index_of(like), index_of(like));
  if (is_new && !is_carried_) at->second = add(like);
  return at->second;
}

}  // namespace fabricast
