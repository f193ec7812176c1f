#pragma once
// NICs that NCCL takes for one: it asks for their speeds together, and cuts every message into as
// many pieces as they are, one for each. Up to 2.23 two ports of one card (src/transport/net_ib.cc,
// NCCL_IB_MERGE_NICS); from 2.24 on what stands near enough (src/graph/topo.cc,
// NCCL_NET_MERGE_LEVEL), or what NCCL_NET_FORCE_MERGE names, four at most.

#include <vector>

#include "models/nccl/environment/env_reader.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

struct NicFusion {
  NodeDescription node;  ///< with one net, numbered as the first of them, where several are fused
  std::vector<int> nics;
  std::vector<std::vector<int>> groups;  ///< of several NICs each; by number
};

/// `nics`: those of the node that NCCL uses, all with verbs, in its order. Throws Error for what
/// NCCL refuses, and for NICs of several sockets.
NicFusion fuse_nics(const NodeDescription& node, const std::vector<int>& nics, EnvReader& env);

/// As aws-ofi-nccl does (src/nccl_ofi_topo.c): the NICs below the last switch that GPUs share with
/// them, in as many groups as there are GPUs, four NICs each at most. The first stands for all, on
/// a PCIe link as wide as its group makes it, but not wider than the GPU's.
NicFusion fuse_rails(const NodeDescription& node, const std::vector<int>& nics, EnvReader& env);

}  // namespace fabricast
