#include "models/nccl/symmetry/simulated_links.hpp"

namespace fabricast {

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster)
    : machine_(machine), cluster_(cluster) {
  for (std::uint32_t link = 0; link < cluster.links(); ++link) add(LinkId{link});
}

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster, const Symmetry& symmetry)
    : machine_(machine), cluster_(cluster), symmetry_(&symmetry) {}

std::uint32_t SimulatedLinks::add(LinkId link) {
  const ClusterLink spec = cluster_.link(link);
  return machine_.add_link({spec.rate, spec.latency, spec.lanes});
}

std::uint32_t SimulatedLinks::operator()(LinkId link) {
  if (symmetry_ == nullptr) return index_of(link);
  const LinkId like = symmetry_->representative(cluster_, link);
  const auto [at, is_new] = known_.try_emplace(index_of(like), 0);
  if (is_new) at->second = add(like);
  return at->second;
}

}  // namespace fabricast
