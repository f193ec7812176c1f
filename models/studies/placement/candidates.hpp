#pragma once
// Allocations that could be the best one.

#include <vector>

#include "models/studies/placement/seats.hpp"

namespace fabricast {

/// Hosts by number in the tree, those of a leaf one after another. Packed and spread evenly over
/// each number of leaves, from as few as hold them on; over the fewest pods. Each keeps as many
/// hosts of `now` as it can. `open`: hosts that may be taken, those of `now` among them.
/// REQUIRES: as many are open.
std::vector<std::vector<int>> candidate_hosts(const SeatPlan& plan, const std::vector<int>& now,
                                              const std::vector<int>& open);

/// The same hosts, those of a leaf one after another, leaves as they come.
std::vector<int> sorted_by_leaf(const SeatPlan& plan, const std::vector<int>& hosts);

/// How often the next host hangs on another leaf, in a circle; 0 on one leaf.
int leaf_crossings(const SeatPlan& plan, const std::vector<int>& hosts);

}  // namespace fabricast
