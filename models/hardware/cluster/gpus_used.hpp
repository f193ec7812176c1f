#pragma once
// How many GPUs of a node take part in a job that asks for so many of each server. 0 = all of them.

#include <string>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// Throws Error unless the node has so many.
void check_gpus_asked(int asked, const std::string& node, int known);

/// What is left to ask of a node that so many servers make: where NVLink joins several,
/// join_trays() left no others in it.
constexpr int gpus_asked_of_node(int trays, int asked) { return trays > 1 ? 0 : asked; }

/// Of each node. Throws Error where it has fewer.
int gpus_used(const Cluster& cluster, int asked);

}  // namespace fabricast
