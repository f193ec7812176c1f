#include "models/nccl/search/nccl_search.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "models/nccl/environment/settings.hpp"
#include "models/nccl/search/graph_search.hpp"
#include "sim/base/error.hpp"

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
  const int gpus_min = input.version < kNccl2_29 ? 3 : 2;
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
  if (input.version < kNccl2_22) {
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

constexpr std::array kGraphs = {&NcclGraphs::ring, &NcclGraphs::tree, &NcclGraphs::collnet_chain,
                                &NcclGraphs::collnet_direct, &NcclGraphs::nvls};

void agree(ChannelGraph& own, const ChannelGraph& other) {
  own.channels.resize(std::min(own.channels.size(), other.channels.size()));
  own.same_channels = own.same_channels && other.same_channels;
  own.bw_intra = std::min(own.bw_intra, other.bw_intra);
  own.bw_inter = std::min(own.bw_inter, other.bw_inter);
  own.type_intra = std::max(own.type_intra, other.type_intra);
  own.type_inter = std::max(own.type_inter, other.type_inter);
  own.cross_nic = std::max(own.cross_nic, other.cross_nic);
}

/// The first rank of each group, ascending.
std::vector<int> first_ranks(const std::vector<int>& domain_of) {
  std::vector<int> known, out;
  for (std::size_t rank = 0; rank < domain_of.size(); ++rank) {
    if (std::ranges::find(known, domain_of[rank]) != known.end()) continue;
    known.push_back(domain_of[rank]);
    out.push_back(static_cast<int>(rank));
  }
  return out;
}

}  // namespace

NcclGraphs exchanged(const NcclGraphs& own, std::span<const NcclGraphs> others,
                     NcclVersion version) {
  NcclGraphs out = own;
  for (const NcclGraphs& other : others) {
    for (const auto graph : kGraphs) agree(out.*graph, other.*graph);
    // "Any node with trees" makes all of them slower, in the model (src/graph/tuning.cc, 2.26).
    if (version >= kNccl2_26 && other.tree.pattern == GraphPattern::tree)
      out.tree.pattern = GraphPattern::tree;
  }
  const std::size_t channels = std::min(out.ring.channels.size(), out.tree.channels.size());
  out.ring.channels.resize(channels);
  out.tree.channels.resize(channels);
  return out;
}

namespace {

/// All that a search sees: of the number of nodes, whether there are several.
struct SearchQuestion {
  NodeDescription node;
  SearchInput input;

  // Bound, so that a field that comes later is not forgotten here.
  static auto tied(const SearchSettings& settings) {
    const auto& [cross_nic, p2p_disable, p2p_level, shm_disable, gdr_level, gdr_read, gdr_c2c,
                 pxn_disable, pxn_c2c, nvb_disable, net_disable_intra, nets_per_gpu] = settings;
    return std::tie(cross_nic, p2p_disable, p2p_level, shm_disable, gdr_level, gdr_read, gdr_c2c,
                    pxn_disable, pxn_c2c, nvb_disable, net_disable_intra, nets_per_gpu);
  }
  static auto tied(const SearchInput& input) {
    const auto& [version, nodes, gpus, nics, collnet, nvls, settings] = input;
    return std::tuple_cat(std::tuple(nodes > 1), std::tie(version, gpus, nics, collnet, nvls),
                          tied(settings));
  }

  bool operator==(const SearchQuestion& other) const {
    return node.name == other.node.name && node.is_of_parts == other.node.is_of_parts &&
           tied(input) == tied(other.input) && node.cpus == other.node.cpus;
  }
};

/// Searches that were made last: a study makes many communicators that differ in what no search
/// looks at. For any thread.
class KnownSearches {
 public:
  std::optional<SearchResult> find(const SearchQuestion& question) {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(known_, question, &Known::first);
    return at == known_.end() ? std::nullopt : std::optional(at->second);
  }
  void add(SearchQuestion question, const SearchResult& result) {
    const std::lock_guard lock(mutex_);
    known_.emplace_front(std::move(question), result);
    if (known_.size() > kMost) known_.pop_back();
  }

 private:
  using Known = std::pair<SearchQuestion, SearchResult>;
  static constexpr std::size_t kMost = 64;
  std::mutex mutex_;
  std::deque<Known> known_;
};

SearchResult search_anew(const NodeDescription& node, const SearchInput& input) {
  check(node, input);
  const NcclGraph graph = NcclGraph::build(input.collnet ? with_collnet(node) : node, input.version,
                                           input.gpus, input.nics);
  check_found(node, graph, input);
  const int ranks = input.nodes * static_cast<int>(input.gpus.size());
  NcclTopology topology(graph, input.settings, ranks);
  const BandwidthLimits limits = bandwidth_limits(topology);
  NcclGraphs searched = search_all(topology, limits, input);
  std::vector<NcclGraphs> by_domain;
  if (topology.domains() > 1) {
    by_domain.push_back(searched);
    for (const int own : first_ranks(topology.domain_of())) {
      if (own == 0) continue;
      const NcclTopology other(graph, input.settings, ranks, own);
      by_domain.push_back(search_all(other, bandwidth_limits(other), input));
    }
  }
  NcclGraphs agreed = exchanged(searched, by_domain, input.version);
  return {std::move(agreed), std::move(searched), std::move(by_domain),
          limits.max_bw,     limits.total_bw,     std::move(topology)};
}

}  // namespace

SearchResult search(const NodeDescription& node, const SearchInput& input) {
  static KnownSearches known;
  SearchQuestion question{node, input};
  if (std::optional<SearchResult> found = known.find(question)) return *std::move(found);
  SearchResult out = search_anew(node, input);
  known.add(std::move(question), out);
  return out;
}

}  // namespace fabricast
