#pragma once
// Allocations that could be the best one.

#include <vector>

#include "models/studies/placement/seats.hpp"

namespace fabricast {

/// Hosts by number in the tree, those of a group (a leaf, or an NVLink domain) one after another.
/// Packed and spread evenly over each number of groups, from as few as hold them on; over the
/// fewest pods (of domains: leaves). Each keeps as many hosts of `now` as it can. `open`: hosts
/// that may be taken, those of `now` among them. REQUIRES: as many are open.
std::vector<std::vector<int>> candidate_hosts(const SeatPlan& plan, const std::vector<int>& now,
                                              const std::vector<int>& open);

/// The same hosts, those of a group one after another, groups as they come.
std::vector<int> sorted_by_group(const SeatPlan& plan, const std::vector<int>& hosts);

/// How often the next host is of another group, in a circle; 0 in one group.
int group_crossings(const SeatPlan& plan, const std::vector<int>& hosts);

}  // namespace fabricast
