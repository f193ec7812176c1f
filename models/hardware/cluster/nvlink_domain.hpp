#pragma once
// Servers (trays) whose GPUs share one plane of NVSwitches: an NVLink domain, which NCCL joins into
// one node (multi-node NVLink, MNNVL: src/mnnvl.cc and ncclTopoFuseXml of NCCL 2.21 to 2.30).

#include "models/hardware/node/node_type.hpp"

namespace fabricast {

/// Trays of each domain when `nodes` of this type are asked for: equally many in as few domains as
/// can hold them, each at least half full (32 of 18 are two times 16). Throws Error where there is
/// no such number.
int trays_per_domain(const NodeType& type, int nodes);

/// One node of so many trays; of each only the first `gpus` take part (0 = all). What must differ
/// from tray to tray (bus ids, NUMA numbers, GUIDs, the hash of the host) is made to.
/// REQUIRES: trays <= type.domain_nodes, type.trays == 1.
NodeType join_trays(const NodeType& type, int trays, int gpus);

}  // namespace fabricast
