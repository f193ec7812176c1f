#pragma once
// A communicator as NCCL settles it when it is created, from the description of one node alone:
// what the environment says, the graphs, the channel counts, the tuning model. Needs no hardware
// model, so it serves any topology file of NCCL's.

#include <string>
#include <vector>

#include "models/nccl/base/members.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/node/network.hpp"
#include "models/nccl/node/node_description.hpp"
#include "models/nccl/search/nccl_search.hpp"
#include "models/nccl/sendrecv/p2p_channels.hpp"
#include "models/nccl/tuner/tuner.hpp"

namespace fabricast {

struct NcclCommunicatorConfig {
  NcclVersion version = kNccl2_21_5;
  Environment environment;
  int nodes = 1;
  int gpus_per_node = 0;      ///< the first so many; 0 = all
  bool sharp = false;         ///< a CollNet plugin serves all NICs; NCCL_COLLNET_ENABLE=1 uses it
  std::string no_sharp = {};  ///< why its fabric gives no trees, if so; NCCL does not say
  int trays = 1;              ///< of a node: hosts that NVLink joins
  Members members = {};       ///< if there are any: in place of nodes and gpus_per_node
  /// As if host memory joined the GPUs of a host, whatever the environment says.
  bool memory_joins = false;
  /// One of its nodes at least has no GPUDirect RDMA. NCCL exchanges what each rank's search found,
  /// and all take the least (src/init.cc, initTransportsRank): that of such a node.
  bool lacks_gdr = false;
  /// The driver lets no two GPUs reach each other over PCIe, which NCCL learns from NVML.
  bool lacks_p2p = false;
  const TunerPlugin* tuner = nullptr;  ///< asked for each call; it outlives the communicator
};

struct NcclCommunicator {
  NcclVersion version = kNccl2_21_5;
  NcclSettings settings;
  SearchSettings search_settings;
  Members members;  ///< GPUs by their place among those of the description
  int nodes = 1, gpus_per_node = 1, ranks = 1;
  int hosts = 1;          ///< what users count as nodes: more, where NVLink joins several
  std::vector<int> nics;  ///< of each node, that NCCL may use
  SearchResult graphs;    ///< as searched, and as after the exchange between ranks
  TuningModel model;  ///< its input holds the channel counts, the heads, and the nodes NCCL sees
  P2pChannels p2p;
  std::vector<std::string> warnings;  ///< one sentence each, beginning with the variable
  NetworkSettings network;
  // Of hosts that fall apart into groups of GPUs and are to be simulated (TransportRules):
  std::vector<int> domain_of = {};
  std::vector<std::vector<int>> domain_nics = {};  ///< empty: the groups are unlike
  /// One, as if host memory joined the groups: sends and receives, and the ways of unlike groups.
  std::vector<NcclCommunicator> joined = {};
  bool lacks_gdr = false;  ///< as it was asked for
};

/// "the GPUs of n5 fall apart into 2 groups that NCCL joins by the network"
std::string apart_text(const NodeDescription& node, int groups);

/// Throws Error when the environment leaves nothing to work with (no HCA for several nodes, GPUs
/// that a node has not, values NCCL refuses).
NcclCommunicator make_nccl_communicator(const NodeDescription& node,
                                        const NcclCommunicatorConfig& config);
/// The same, with the search of `other` where it cannot differ: from several nodes to several, the
/// search sees the same. REQUIRES: `other` was made of the same node and config but for `nodes`, or
/// the nodes of the members.
NcclCommunicator make_nccl_communicator(const NodeDescription& node,
                                        const NcclCommunicatorConfig& config,
                                        const NcclCommunicator& other);

}  // namespace fabricast
