#include "models/nccl/symmetry/simulated_links.hpp"

namespace fabricast {
namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;
constexpr std::uint32_t kRemembered = 1 << 20;  ///< 4 MiB

}  // namespace

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster, bool trunks_gather)
    : machine_(machine), cluster_(cluster), trunks_gather_(trunks_gather) {
  const auto own = static_cast<std::uint32_t>(cluster.node().links().size());
  std::vector<LinkSpec> of_node;  // of the first one: all are alike
  for (std::uint32_t link = 0; link < own; ++link) of_node.push_back(spec(LinkId{link}));
  for (std::uint32_t link = 0; link < cluster.links(); ++link) {
    const bool is_known = !cluster.has_own_rates() && !cluster.is_fabric_link(LinkId{link});
    machine.add_link(is_known ? of_node[link % own] : spec(LinkId{link}));
  }
}

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster,
                               std::span<const LinkSpec> specs)
    : machine_(machine), cluster_(cluster) {
  for (const LinkSpec& spec : specs.first(cluster.links())) machine.add_link(spec);
}

SimulatedLinks::SimulatedLinks(Machine& machine, const Cluster& cluster, const Symmetry& symmetry,
                               bool is_carried)
    : machine_(machine), cluster_(cluster), symmetry_(&symmetry), is_carried_(is_carried) {
  if (cluster.links() <= kRemembered) number_of_.resize(cluster.links(), kUnknown);
  for (std::uint32_t link = 0; is_carried && link < cluster.links(); ++link) add(LinkId{link});
}

LinkSpec SimulatedLinks::spec(LinkId link) const {
  const ClusterLink found = cluster_.link(link);
  const bool gathers = found.out_of_switch || (trunks_gather_ && cluster_.is_trunk(link));
  return {found.rate, found.latency, found.lanes, gathers};
}

std::uint32_t SimulatedLinks::add(LinkId link) { return machine_.add_link(spec(link)); }

std::uint32_t SimulatedLinks::operator()(LinkId link) {
  if (symmetry_ == nullptr) return index_of(link);
  if (number_of_.empty()) return find(link);
  std::uint32_t& number = number_of_[index_of(link)];
  if (number == kUnknown) number = find(link);
  return number;
}

std::uint32_t SimulatedLinks::find(LinkId link) {
  const LinkId like = symmetry_->representative(cluster_, link);
  const auto [at, is_new] = known_.try_emplace(index_of(like), index_of(like));
  if (is_new && !is_carried_) at->second = add(like);
  return at->second;
}

}  // namespace fabricast
