#pragma once
// What the pieces of the study share.

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/placement/placement.hpp"
#include "models/studies/placement/seats.hpp"

namespace fabricast {

/// A step of a layout on these hosts, in the order of ranks. Throws Error where the layout has
/// another number of nodes.
StepResult placed_step(const StepConfig& config, const SeatPlan& plan,
                       const std::vector<int>& hosts, const PartsCatalogue& parts,
                       const ForEach& for_each);

/// Numbers of hosts in the tree. `whose`: "the job". Throws Error: not in it, or named twice.
std::vector<int> hosts_by_name(const HostTree& tree, const std::string& tree_file,
                               const std::vector<std::string>& names, const std::string& whose);

/// Those of the second job. REQUIRES: there is one. Throws Error with its file.
std::vector<int> hosts_of_neighbour(const PlacementConfig& config);

/// What both jobs do to each other. `self`: hosts of the job.
NeighbourResult run_neighbour(const PlacementConfig& config, const SeatPlan& plan,
                              const std::vector<int>& self, const PartsCatalogue& parts,
                              const ForEach& for_each, std::vector<std::string>& notes);

}  // namespace fabricast
