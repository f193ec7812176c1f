#pragma once
// From a node to NCCL's graphs: builds NCCL's view of it, finds paths and searches channels for
// rings, trees, CollNet and NVLS, as every rank does when a communicator is created (src/init.cc,
// initTransportsRank, and src/graph of NCCL 2.21 to 2.30).

#include <span>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/environment/search_settings.hpp"
#include "models/nccl/node/nccl_paths.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

struct SearchInput {
  NcclVersion version = kNccl2_21_5;
  int nodes = 1;
  std::vector<int> gpus;  ///< of each node, by index; their order gives the local ranks
  std::vector<int> nics;  ///< of each node, by index, that NCCL may use
  bool collnet = false;   ///< a CollNet plugin serves all NICs, and NCCL_COLLNET_ENABLE=1
  bool nvls = true;       ///< the driver offers multicast, and NCCL_NVLS_ENABLE is not 0
  SearchSettings settings;
};

/// A graph without channels was not found or not wanted. In 2.21 CollNet has one graph for both.
struct NcclGraphs {
  ChannelGraph ring, tree, collnet_chain, collnet_direct, nvls;
  bool is_collnet_searched = false, is_nvls_searched = false;
};

/// GPUs in channels are local ranks, nets the indices of the description. Where a host falls apart
/// into groups, channels and topology are those of rank 0.
struct SearchResult : NcclGraphs {
  NcclGraphs searched;  ///< as rank 0 finds them; the base has them as after the exchange
  std::vector<NcclGraphs> by_domain;  ///< of several groups: as each finds them, by first rank
  float max_bw = 0;                   ///< the search's limits, GB/s: widest way,
  float total_bw = 0;                 ///< and all links of a GPU together
  NcclTopology topology;
};

/// Throws Error when GPUs or NICs are not in the description, when there is no GPU, or no NIC for
/// several nodes.
SearchResult search(const NodeDescription& node, const SearchInput& input);

/// What ranks agree on: of each graph the fewest channels, the least rates and the farthest types
/// that any of them has, and of ring and tree as many channels as both have (src/init.cc,
/// initTransportsRank). `others`: of ranks in other groups of GPUs, as nodes are equal.
NcclGraphs exchanged(const NcclGraphs& own, std::span<const NcclGraphs> others,
                     NcclVersion version);

}  // namespace fabricast
