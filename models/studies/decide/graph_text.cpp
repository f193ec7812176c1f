#include "models/studies/decide/graph_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {

namespace {

constexpr int kRanksNamed = 64;

/// What NCCL prints of a NIC as a number, with the name it has in the system, or the names of those
/// that are one to it.
std::string net_names(const NcclCommunicator& made, const NodeDescription& node) {
  std::map<int, std::string> names;
  for (const NodeDescription::Net& net : nets_of(node)) names[net.dev] = net.name;
  std::string out;
  for (const auto& [dev, name] : names) {
    if (std::ranges::find(made.nics, dev) == made.nics.end()) continue;
    out += fmt::format("{}NET/{} ", out.empty() ? "" : ", ", dev);
    for (const int member : made.network.members(dev))
      out += (member == dev ? "" : "+") + names.at(member);
  }
  return out.empty() ? "no NET" : out;
}

std::string searched(const char* name, const ChannelGraph& graph) {
  return fmt::format("\n{}: {}\n{}", name, pattern_text(graph), channels_text(graph));
}

std::string ranks_text(std::span<const int> ranks) {
  if (ranks.size() <= kRanksNamed) return fmt::format("{}", fmt::join(ranks, " "));
  return fmt::format("{} ... ({} ranks)", fmt::join(ranks.first(kRanksNamed), " "), ranks.size());
}

std::string rings_text(const NcclCommunicator& made) {
  const TunerInput& in = made.model.input;
  std::string out;
  for (int c = 0; c < in.channels.communicator; ++c) {
    const GlobalRing ring = global_ring(made.graphs.ring, in.nodes, c, made.version);
    out += fmt::format("Channel {:02}/{:02} : {}\n", c, in.channels.communicator,
                       ranks_text(ring.ranks));
  }
  return out;
}

std::string trees_text(const NcclCommunicator& made) {
  const TunerInput& in = made.model.input;
  std::string out = "Trees of the first node's ranks, [channel] down/down/down->rank->up:\n";
  for (int rank = 0; rank < in.ranks / in.nodes; ++rank) {
    out += fmt::format("rank {} Trees", rank);
    for (int c = 0; c < in.channels.communicator; ++c) {
      const TreeLinks links = tree_links(made.graphs.tree, in.nodes, c, rank);
      out += fmt::format(" [{}] {}->{}->{}", c, fmt::join(links.down, "/"), rank, links.up);
    }
    out += '\n';
  }
  return out;
}

std::string nvls_text(const NcclCommunicator& made) {
  const TunerInput& in = made.model.input;
  const int gpus = in.ranks / in.nodes;
  std::string out;
  const std::vector<int> heads = distinct_heads(made.graphs.nvls);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    std::vector<int> ranks;
    for (int node = 0; node < in.nodes; ++node) ranks.push_back(node * gpus + heads[h]);
    out += fmt::format("NVLS Head {:2}: {}\n", h, ranks_text(ranks));
  }
  if (in.nodes == 1) return out;
  out += "NVLS trees of the first node's heads, [channels] down/down->rank->up:\n";
  for (const int head : heads) {
    out += fmt::format("rank {} NVLS", head);
    for (const auto& [name, channel] : {std::pair{"even", 0}, std::pair{"odd", 1}}) {
      const NvlsLinks links = nvls_links(made.graphs.nvls, in.nodes, gpus, channel, head);
      out += fmt::format(" [{}] {}->{}->{}", name, fmt::join(std::span(links.down).last<2>(), "/"),
                         head, links.up);
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string pattern_text(const ChannelGraph& graph) {
  return fmt::format(
      "Pattern {}, crossNic {}, nChannels {}, bw {:g}/{:g}, type {}/{}, sameChannels {}",
      static_cast<int>(graph.pattern), graph.cross_nic, graph.channel_count(), graph.bw_intra,
      graph.bw_inter, to_text(graph.type_intra), to_text(graph.type_inter),
      graph.same_channels ? 1 : 0);
}

std::string channels_text(const ChannelGraph& graph, const std::string& indent) {
  std::string out;
  for (std::size_t c = 0; c < graph.channels.size(); ++c) {
    const GraphChannel& channel = graph.channels[c];
    out += fmt::format("{}{:2} :", indent, c);
    if (channel.net_in >= 0) out += fmt::format(" NET/{}", channel.net_in);
    for (const int gpu : channel.gpu_order) out += fmt::format(" GPU/{}", gpu);
    if (channel.net_out >= 0) out += fmt::format(" NET/{}", channel.net_out);
    out += '\n';
  }
  return out;
}

std::string graphs_text(const NcclCommunicator& made, const NodeDescription& node) {
  const TunerInput& in = made.model.input;
  const NcclGraphs& found = made.graphs.searched;
  std::string out = fmt::format("{} x {} GPUs, NCCL {}. GPU/n is local rank n, {}\n", made.nodes,
                                made.gpus_per_node, to_text(made.version), net_names(made, node));
  if (in.nodes != made.nodes) {
    out += fmt::format(
        "GPUs of a node do not all reach each other without the network: NCCL sees {} nodes\n",
        in.nodes);
  }
  out += fmt::format("=== System : maxBw {:.1f} totalBw {:.1f} ===\n", made.graphs.max_bw,
                     made.graphs.total_bw);
  out += searched("Ring", found.ring) + searched("Tree", found.tree);
  if (found.is_collnet_searched) {
    const bool one = made.version < kNccl2_22;
    out += searched(one ? "CollNet" : "CollNet chain", found.collnet_chain);
    if (!one) out += searched("CollNet direct", found.collnet_direct);
  }
  if (found.is_nvls_searched) out += searched("NVLS, GPU/n is the head", found.nvls);
  out += fmt::format(
      "\n{} coll channels, {} nvls channels, {} p2p channels, {} p2p channels per peer\n\n",
      in.channels.collective, in.nvls_setup.channels, made.p2p.channels, made.p2p.per_peer);
  out += rings_text(made) + "\n" + trees_text(made);
  return in.nvls ? out + "\n" + nvls_text(made) : out;
}

}  // namespace fabricast
