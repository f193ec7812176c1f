#pragma once
// What a graph search leaves behind for one algorithm: per channel the order of a node's GPUs and
// the NICs at both ends, and how fast and how far. Nodes are identical, so one graph serves them
// all.

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// How far apart two devices are, nearest first (src/include/graph.h and topo.h of
/// NCCL 2.27+). 2.21 knows neither c2c nor p2c; the order of the others is the same, so comparisons
/// hold there too.
enum class PathType : std::uint8_t {
  loc,  ///< the same device
  nvl,  ///< NVLink, direct or through NVSwitch
  nvb,  ///< two NVLinks through another GPU
  c2c,  ///< chip-to-chip link between GPU and CPU
  pix,  ///< one PCIe switch
  pxb,  ///< several PCIe switches, no host bridge
  p2c,  ///< C2C and the host bridge
  pxn,  ///< NVLink to the GPU next to the NIC
  phb,  ///< the host bridge of a CPU
  sys,  ///< the link between sockets
  net,  ///< the network
  dis   ///< not connected
};

/// NCCL's spelling: "NVL".
inline constexpr auto kPathTypeWords = enum_words<PathType>(
    "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS");
inline constexpr int kPathTypes = kPathTypeWords.words.size();
constexpr std::string_view to_text(PathType type) { return kPathTypeWords[type]; }

/// The search's shapes, with NCCL's numbers (src/include/graph.h). A tree's chain of GPUs is the
/// same in all three tree patterns; they differ in who speaks with the tree's child nodes.
enum class GraphPattern : std::uint8_t {
  balanced_tree = 1,  ///< first child at chain position 1, second at 0
  split_tree = 2,     ///< both at position 1
  tree = 3,           ///< both at position 0
  ring = 4,
  nvls = 5,
  collnet_direct = 6  ///< 2.27+
};

/// One search channel. Indices are local to the node; nets are -1 when the job has one node.
struct GraphChannel {
  std::vector<int>
      gpu_order;     ///< ring: from the entering to the leaving GPU; tree: from the top down
  int net_in = -1;   ///< NIC at gpu_order.front()
  int net_out = -1;  ///< NIC at the end of the way: the leaving GPU, or a tree's child port
};

/// After the exchange between ranks (ring and tree then have the same number of channels).
struct ChannelGraph {
  GraphPattern pattern = GraphPattern::ring;
  int cross_nic = 0;   ///< 2.21: 1 = a channel may leave by another NIC; 2.27+ says 2 for that
  float bw_intra = 0;  ///< GB/s per channel inside the node
  float bw_inter = 0;  ///< GB/s per channel between nodes
  float latency_inter_us = 0;           ///< what the network plugin says of its NIC; normally 0
  PathType type_intra = PathType::loc;  ///< farthest between GPUs
  PathType type_inter = PathType::loc;  ///< farthest between GPU and NIC
  bool same_channels = true;            ///< all channels have the same order of GPUs
  std::vector<GraphChannel> channels;
  int hops = 0;  ///< NCCL's count over all channels, with what its search adds to it
  int min_channels = 0, max_channels = 0;  ///< limits at the end of the search

  int channel_count() const { return static_cast<int>(channels.size()); }
  int gpus() const { return channels.empty() ? 0 : static_cast<int>(channels[0].gpu_order.size()); }
};

/// The NIC a GPU uses for a communicator channel's network links: the channel's first NIC if it is
/// the channel's first GPU, else the last (src/graph/topo.cc and search.cc, ncclTopoGetNetDev).
/// REQUIRES: a graph with channels. `channel` is taken modulo their number.
int nic_of(const ChannelGraph& graph, int channel, int local_gpu);

}  // namespace fabricast
