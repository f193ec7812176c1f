#include "models/nccl/nccl_search.hpp"

#include <algorithm>
#include <string>

#include "models/nccl/graph_search.hpp"
#include "models/nccl/settings.hpp"
#include "sim/error.hpp"

namespace fabricast {
namespace {

ChannelGraph finished(const GraphDraft& draft, const NcclTopology& topology) {
  const NcclGraph& graph = topology.graph();
  ChannelGraph out;
  out.pattern = draft.pattern;
  out.cross_nic = draft.cross_nic;
  out.bw_intra = draft.bw_intra;
  out.bw_inter = draft.bw_inter;
  out.latency_inter_us = draft.latency_inter_us;
  out.type_intra = draft.type_intra;
  out.type_inter = draft.type_inter;
  out.same_channels = draft.same_channels;
  out.hops = draft.hops;
  out.min_channels = draft.min_channels;
  out.max_channels = draft.max_channels;
  const auto net_dev = [&](int place) {
    return place < 0 ? -1 : graph.vertex(graph.at(TopoKind::net, place)).dev;
  };
  for (int c = 0; c < draft.count; ++c) {
    const DraftChannel& channel = draft.channels[static_cast<std::size_t>(c)];
    GraphChannel& made = out.channels.emplace_back();
    made.net_in = net_dev(channel.net_in);
    made.net_out = net_dev(channel.net_out);
    for (const int place : channel.gpus) {
      made.gpu_order.push_back(graph.vertex(graph.at(TopoKind::gpu, place)).gpu.rank);
      if (draft.pattern == GraphPattern::nvls) break;  // only its head means anything
    }
  }
  return out;
}

/// What NCCL holds of a graph it did not search.
ChannelGraph unsearched(GraphPattern pattern, int min_channels, int max_channels) {
  ChannelGraph out;
  out.pattern = pattern;
  out.same_channels = false;
  out.min_channels = min_channels;
  out.max_channels = max_channels;
  return out;
}

bool wants_nvls(const NcclTopology& topology, const SearchInput& input) {
  const NcclGraph& graph = topology.graph();
  const int gpus_min = input.version < kNccl2_30 ? 3 : 2;
  return input.nvls && graph.min_sm() >= 90 && graph.count(TopoKind::nvs) > 0 &&
         graph.count(TopoKind::gpu) >= gpus_min;
}

NcclGraphs search_all(const NcclTopology& topology, BandwidthLimits limits,
                      const SearchInput& input) {
  LinkBudget budget(topology);
  ChannelSearch channels(topology, budget);
  GraphSearch graphs(topology, limits, channels);
  const auto search = [&](const GraphRequest& request) {
    return finished(graphs.search(request), topology);
  };
  const int channels_max = max_channels(input.version);
  NcclGraphs out;
  out.ring = search({GraphPattern::ring, false, 1, channels_max / 2});
  const int rings = out.ring.channel_count();
  out.tree = search({GraphPattern::balanced_tree, false, rings, rings});

  out.collnet_chain = unsearched(GraphPattern::tree, rings, rings);
  out.collnet_direct = unsearched(GraphPattern::collnet_direct, 1, channels_max);
  out.is_collnet_searched = input.collnet;
  if (input.collnet) out.collnet_chain = search({GraphPattern::tree, true, rings, rings});
  if (input.version < kNccl2_27) {
    out.collnet_direct = out.collnet_chain;
  } else if (input.collnet) {
    out.collnet_direct = search({GraphPattern::collnet_direct, true, 1, channels_max});
  }
  out.nvls = unsearched(GraphPattern::nvls, 1, channels_max);
  out.is_nvls_searched = wants_nvls(topology, input);
  if (out.is_nvls_searched) out.nvls = search({GraphPattern::nvls, false, 1, channels_max});
  return out;
}

NodeDescription with_collnet(NodeDescription node) {
  const auto mark = [](auto&& self, std::vector<NodeDescription::Pci>& children) -> void {
    for (NodeDescription::Pci& pci : children) {
      if (pci.nic) {
        for (NodeDescription::Net& net : pci.nic->nets) net.collnet = true;
      }
      self(self, pci.children);
    }
  };
  for (NodeDescription::Cpu& cpu : node.cpus) mark(mark, cpu.children);
  return node;
}

void check(const NodeDescription& node, const SearchInput& input) {
  const auto check_known = [&](std::span<const int> wanted, const std::vector<int>& known,
                               const char* what) {
    for (const int index : wanted) {
      if (std::ranges::find(known, index) != known.end()) continue;
      throw Error(node.name + ": no " + what + " " + std::to_string(index),
                  "it has " + std::to_string(known.size()));
    }
  };
  if (input.gpus.empty()) {
    throw Error(node.name + ": no GPU takes part", "a topology file of NCCL names GPUs by <gpu>");
  }
  if (input.nodes > 1 && input.nics.empty()) {
    throw Error(node.name + ": several nodes need a NIC",
                "a topology file of NCCL names them by <net>");
  }
  if (node.cpus.empty()) throw Error(node.name + ": no CPU");
  check_known(input.gpus, gpu_devs(node), "GPU");
  check_known(input.nics, net_devs(node), "NIC");
}

/// NCCL passes over what hangs below a GPU or a NIC.
void check_found(const NodeDescription& node, const NcclGraph& graph, const SearchInput& input) {
  if (static_cast<std::size_t>(graph.count(TopoKind::gpu)) < input.gpus.size())
    throw Error(node.name + ": a GPU hangs below what is no PCIe switch");
  if (input.nodes > 1 && graph.count(TopoKind::net) == 0)
    throw Error(node.name + ": all NICs hang below what is no PCIe switch");
}

}  // namespace

NcclGraphs exchanged(const NcclGraphs& searched) {
  NcclGraphs out = searched;
  const std::size_t channels = std::min(out.ring.channels.size(), out.tree.channels.size());
  out.ring.channels.resize(channels);
  out.tree.channels.resize(channels);
  return out;
}

SearchResult search(const NodeDescription& node, const SearchInput& input) {
  check(node, input);
  NcclGraph graph = NcclGraph::build(input.collnet ? with_collnet(node) : node, input.version,
                                     input.gpus, input.nics);
  check_found(node, graph, input);
  NcclTopology topology(std::move(graph), input.settings,
                        input.nodes * static_cast<int>(input.gpus.size()));
  const BandwidthLimits limits = bandwidth_limits(topology);
  const NcclGraphs searched = search_all(topology, limits, input);
  return {exchanged(searched), searched, limits.max_bw, limits.total_bw, std::move(topology)};
}

}  // namespace fabricast
