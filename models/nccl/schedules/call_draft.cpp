#include "models/nccl/schedules/call_draft.hpp"

namespace fabricast {

CallDraft::CallDraft(const Cluster& cluster, const SoftwareCosts& software,
                     const CollectiveRun& run, const Partition& partition, const Symmetry& symmetry,
                     bool is_full, const Symmetry* folded_by, const FabricRoutes& routes)
    : links_(folded_by != nullptr ? SimulatedLinks(blueprint_, cluster, *folded_by)
                                  : SimulatedLinks(blueprint_, cluster, routes.are_hashed())),
      assembly_(blueprint_, links_, cluster, software, run, partition, symmetry, is_full) {
  assembly_.take_routes(routes);
  add_schedule(assembly_);
  cluster_links_.resize(blueprint_.links().size());
  for (const auto& [link, number] : links_.known()) cluster_links_[number] = LinkId{link};
  for (std::uint32_t link = 0; !links_.is_folded() && link < cluster.links(); ++link)
    cluster_links_[link] = LinkId{link};
}

BuiltCall CallDraft::build_on(Machine& machine, SimulatedLinks& links,
                              std::optional<std::uint32_t> first_thread) const {
  std::vector<std::uint32_t> there;
  for (std::size_t i = 0; i < cluster_links_.size(); ++i)
    there.push_back(cluster_links_[i] ? links(*cluster_links_[i])
                                      : machine.add_link(blueprint_.links()[i]));
  const auto ranks = static_cast<std::uint32_t>(assembly_.ranks_simulated());
  const Blueprint::Place place = blueprint_.build_on(machine, there, ranks, first_thread);
  return {&assembly_, place.first_worker, place.first_thread};
}

}  // namespace fabricast
