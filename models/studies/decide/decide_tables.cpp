#include "models/studies/decide/decide_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

/// "base" or what is set, as one CSV field.
std::string variant(const Environment& environment) {
  std::string out;
  for (const auto& [name, value] : environment.variables())
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out.empty() ? "base" : csv_field(out);
}

std::string single(float value) { return fmt::format("{:.9g}", value); }

template <class List>
std::string joined(const List& list, std::string_view between) {
  return fmt::format("{}", fmt::join(list, between));
}

/// "" for -1: no such thing.
std::string index_or_nothing(int index) { return index < 0 ? "" : std::to_string(index); }

/// Rows of one communicator; each begins with version, topology, variant and nodes.
class Rows {
 public:
  Rows(const DecideResult& result, const DecideBlock& block, std::string& out)
      : block_(block),
        made_(block.communicator),
        in_(block.communicator.model.input),
        key_(fmt::format("{},{},{},{}", to_text(made_.version), csv_field(result.topology),
                         variant(result.config.environment), made_.hosts)),
        out_(out) {}

  void add(DecideTable table) {
    switch (table) {
      case DecideTable::graphs:
        return graphs();
      case DecideTable::graph_channels:
        return graph_channels();
      case DecideTable::rings:
        return rings();
      case DecideTable::trees:
        return trees();
      case DecideTable::paths:
        return paths();
      case DecideTable::comms:
        return comms();
      case DecideTable::model:
        return model();
      case DecideTable::predictions:
        return predictions();
      case DecideTable::systems:
        return systems();
    }
  }

 private:
  template <class... Cells>
  void row(const Cells&... cells) {
    out_ += key_;
    ((out_ += fmt::format(",{}", cells)), ...);
    out_ += '\n';
  }

  bool has_one_collnet_graph() const { return made_.version < kNccl2_22; }
  int gpus() const { return in_.ranks / in_.nodes; }  ///< of what NCCL takes for a node

  void graph(const char* stage, const char* name, const ChannelGraph& g) {
    row(stage, name, static_cast<int>(g.pattern), g.channel_count(), g.cross_nic,
        single(g.bw_intra), single(g.bw_inter), single(g.latency_inter_us), to_text(g.type_intra),
        to_text(g.type_inter), g.same_channels ? 1 : 0, g.hops, g.min_channels, g.max_channels);
  }

  void graphs() {
    const NcclGraphs& found = made_.graphs.searched;
    graph("search", "ring", found.ring);
    graph("search", "tree", found.tree);
    if (found.is_collnet_searched) {
      graph("search", has_one_collnet_graph() ? "collnet" : "collnetchain", found.collnet_chain);
      if (!has_one_collnet_graph()) graph("search", "collnetdirect", found.collnet_direct);
    }
    if (found.is_nvls_searched) graph("search", "nvls", found.nvls);
    const NcclGraphs& left = made_.graphs;
    graph("final", "ring", left.ring);
    graph("final", "tree", left.tree);
    if (!has_one_collnet_graph()) graph("final", "collnetdirect", left.collnet_direct);
    graph("final", has_one_collnet_graph() ? "collnet" : "collnetchain", left.collnet_chain);
    graph("final", "nvls", left.nvls);
  }

  void channels_of(const char* name, const ChannelGraph& g) {
    for (std::size_t c = 0; c < g.channels.size(); ++c) {
      const GraphChannel& channel = g.channels[c];
      row(name, c, index_or_nothing(channel.net_in), joined(channel.gpu_order, " "),
          index_or_nothing(channel.net_out));
    }
  }

  void graph_channels() {
    const NcclGraphs& found = made_.graphs.searched;
    channels_of("ring", found.ring);
    channels_of("tree", found.tree);
    channels_of(has_one_collnet_graph() ? "collnet" : "collnetchain", found.collnet_chain);
    if (!has_one_collnet_graph()) channels_of("collnetdirect", found.collnet_direct);
    channels_of("nvls", found.nvls);
  }

  void rings() {
    for (int c = 0; c < in_.channels.communicator; ++c) {
      const GlobalRing ring = global_ring(made_.graphs.ring, in_.nodes, c, made_.version);
      row(c, joined(ring.ranks, " "));
    }
  }

  void trees() {
    const auto ranks = static_cast<std::size_t>(in_.ranks);
    const auto channels = static_cast<std::size_t>(in_.channels.communicator);
    std::vector<std::vector<int>> next(channels, std::vector<int>(ranks)), previous = next;
    for (std::size_t c = 0; c < channels; ++c) {
      const GlobalRing ring =
          global_ring(made_.graphs.ring, in_.nodes, static_cast<int>(c), made_.version);
      for (std::size_t i = 0; i < ranks; ++i) {
        const int here = ring.ranks[i], there = ring.ranks[(i + 1) % ranks];
        next[c][static_cast<std::size_t>(here)] = there;
        previous[c][static_cast<std::size_t>(there)] = here;
      }
    }
    for (int rank = 0; rank < in_.ranks; ++rank) {
      for (std::size_t c = 0; c < channels; ++c) {
        const auto r = static_cast<std::size_t>(rank);
        const int channel = static_cast<int>(c);
        const TreeLinks tree = tree_links(made_.graphs.tree, in_.nodes, channel, rank);
        row(rank, c, previous[c][r], next[c][r], tree.up, joined(tree.down, ","),
            nvls_cells(channel, rank));
      }
    }
  }

  /// Head, parent and children; NCCL counts the switch of the node as the first child.
  std::string nvls_cells(int channel, int rank) const {
    if (!in_.nvls) return ",,,,";
    const NvlsLinks links = nvls_links(made_.graphs.nvls, in_.nodes, gpus(), channel, rank);
    // Since 2.30 what NVLS does not use stays as it was allocated.
    if (made_.version >= kNccl2_30 && channel >= in_.nvls_setup.channels) return "0,0,0,0,0";
    return fmt::format("{},{},{}", links.head, links.up, joined(links.down, ","));
  }

  void paths() {
    const NcclGraph& graph = made_.graphs.topology.graph();
    for (const auto& [from_kind, from] : devices(graph)) {
      for (const auto& [to_kind, to] : devices(graph)) {
        const NcclPath& path = made_.graphs.topology.path(from, to);
        row(from_kind, graph.vertex(from).dev, to_kind, graph.vertex(to).dev, to_text(path.type),
            single(path.bw), path.hops());
      }
    }
  }

  static std::vector<std::pair<const char*, TopoVertexId>> devices(const NcclGraph& graph) {
    std::vector<std::pair<const char*, TopoVertexId>> out;
    for (const TopoVertexId gpu : graph.all(TopoKind::gpu)) out.emplace_back("GPU", gpu);
    for (const TopoVertexId net : graph.all(TopoKind::net)) out.emplace_back("NET", net);
    return out;
  }

  void comms() {
    const BufferSizes& buffers = in_.settings.buffers;
    row(in_.ranks, in_.channels.communicator, in_.channels.collective, in_.nvls_setup.channels,
        made_.p2p.channels, made_.p2p.per_peer, in_.collnet ? 1 : 0, in_.nvls ? 1 : 0,
        in_.collnet_heads, in_.nvls_heads, buffers.ll.count, buffers.ll128.count,
        buffers.simple.count, made_.p2p.chunk.count, in_.nodes);
  }

  void model() {
    for (const Collective c : kAllCollectives) {
      if (!is_tuned(c)) continue;
      for (const Algorithm a : kAllAlgorithms) {
        for (const Protocol p : kAllProtocols) {
          const TunedPair& pair = made_.model.pair(c, a, p);
          if (pair.bandwidth_GBps <= 0) continue;
          row(nccl_name(c), to_text(a), to_text(p), single(pair.latency_us),
              single(pair.bandwidth_GBps), made_.model.threads_max[index_of(a)][index_of(p)],
              made_.model.bytes_per_thread[index_of(a)][index_of(p)]);
        }
      }
    }
  }

  void predictions() {
    for (const DecideRow& one : block_.rows) {
      std::string times;
      for (const auto& [a, p] : predicted_pairs()) {
        times += ',';
        for (const Candidate& candidate : one.decision.candidates) {
          if (candidate.algorithm == a && candidate.protocol == p && candidate.excluded.empty())
            times += single(candidate.time_us);
        }
      }
      row(nccl_name(one.collective), one.requested.count, times.substr(1));
    }
  }

 public:
  /// In NCCL's order; all that is no ring and no tree knows Simple only.
  static std::vector<std::pair<Algorithm, Protocol>> predicted_pairs() {
    std::vector<std::pair<Algorithm, Protocol>> out;
    for (const Algorithm a : kAllAlgorithms) {
      for (const Protocol p : kAllProtocols) {
        const bool all_protocols = a == Algorithm::ring || a == Algorithm::tree;
        if (all_protocols || p == Protocol::simple) out.emplace_back(a, p);
      }
    }
    return out;
  }

 private:
  void systems() {
    const NcclGraph& graph = made_.graphs.topology.graph();
    row(graph.count(TopoKind::gpu), graph.count(TopoKind::net), graph.count(TopoKind::nvs),
        graph.count(TopoKind::cpu), graph.count(TopoKind::pci), single(made_.graphs.max_bw),
        single(made_.graphs.total_bw));
  }

  const DecideBlock& block_;
  const NcclCommunicator& made_;
  const TunerInput& in_;
  std::string key_;
  std::string& out_;
};

std::string columns(DecideTable table) {
  switch (table) {
    case DecideTable::graphs:
      return "stage,graph,pattern,nchannels,cross_nic,bw_intra_GBs,bw_inter_GBs,latency_inter_us,"
             "type_intra,type_inter,same_channels,nhops,min_channels,max_channels";
    case DecideTable::graph_channels:
      return "graph,channel,net_in,gpu_order,net_out";
    case DecideTable::rings:
      return "channel,ring";
    case DecideTable::trees:
      return "rank,channel,ring_prev,ring_next,tree_up,tree_down0,tree_down1,tree_down2,nvls_head,"
             "nvls_tree_up,nvls_tree_down0,nvls_tree_down1,nvls_tree_down2";
    case DecideTable::paths:
      return "src_type,src_dev,dst_type,dst_dev,path_type,bw_GBs,hops";
    case DecideTable::comms:
      return "nranks,nchannels,coll_channels,nvls_channels,p2p_channels,p2p_channels_per_peer,"
             "collnet_enabled,nvls_support,collnet_heads,nvls_heads,buff_ll,buff_ll128,buff_simple,"
             "p2p_chunk,tuner_nodes";
    case DecideTable::model:
      return "coll,algo,proto,latency_us,bandwidth_GBs,max_threads,thread_threshold";
    case DecideTable::predictions: {
      std::string out = "coll,nbytes";
      for (const auto& [a, p] : Rows::predicted_pairs())
        out += fmt::format(",{}_{}", to_text(a), to_text(p));
      return out;
    }
    case DecideTable::systems:
      return "ngpus,nnets,nnvs,ncpus,npci,max_bw_GBs,total_bw_GBs";
  }
  return {};
}

}  // namespace

std::string decide_table(const DecideResult& result, DecideTable table) {
  std::string out = fmt::format("version,topo,variant,nnodes,{}\n", columns(table));
  for (const DecideBlock& block : result.blocks) Rows(result, block, out).add(table);
  return out;
}

}  // namespace fabricast
