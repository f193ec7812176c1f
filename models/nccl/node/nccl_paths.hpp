#pragma once
// Ways between the devices of NCCL's graph, and what NCCL concludes from them: who is near whom,
// who may speak with whom directly, which GPU goes to which NIC. Restates src/graph/paths.cc and
// the local device rules of src/graph/topo.cc of NCCL 2.21 to 2.30.

#include <optional>
#include <span>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/environment/search_settings.hpp"
#include "models/nccl/node/nccl_graph.hpp"

namespace fabricast {

struct NcclPath {
  PathType type = PathType::dis;
  float bw = 0;  ///< of the narrowest link, GB/s; 0 = no way
  std::vector<TopoLinkId> links;

  int hops() const { return static_cast<int>(links.size()); }
};

/// The next farther type that a version knows. REQUIRES: type < PathType::dis.
PathType next_type(PathType type, NcclVersion version);

/// A graph with its paths: one node, as one communicator sees it.
class NcclTopology {
 public:
  /// `ranks` of the communicator; more of them than the graph has GPUs means several nodes. As rank
  /// `own` of the node sees it: where the node falls apart, its group alone.
  NcclTopology(NcclGraph graph, const SearchSettings& settings, int ranks, int own = 0);

  const NcclGraph& graph() const { return graph_; }
  NcclVersion version() const { return graph_.version(); }
  const SearchSettings& settings() const { return settings_; }

  /// From any vertex to a GPU, CPU, net, NVSwitch or GPU package.
  const NcclPath& path(TopoVertexId from, TopoVertexId to) const {
    return paths_[index_of(from) * stride_ + index_of(to)];
  }

  /// Whether the search goes over the network: several nodes, or one that fell apart.
  bool uses_net() const { return uses_net_; }
  /// Groups of GPUs of the host that reach each other without the network. More than one: each is a
  /// node of its own to NCCL, and the graph holds that of rank `own`.
  int domains() const { return domains_; }
  /// By rank of the node: GPUs with different numbers reach each other by the network only.
  const std::vector<int>& domain_of() const { return domain_of_; }
  /// How far apart two GPUs may be for peer-to-peer.
  PathType p2p_level() const;
  /// The nets that the search may use: none when it stays inside the node.
  int net_count() const { return uses_net_ ? graph_.count(TopoKind::net) : 0; }

  /// All vertices of a kind that are nearest to `from`: widest, among these of the least type.
  std::vector<TopoVertexId> nearest(TopoVertexId from, TopoKind kind) const;
  /// The net a GPU uses on a channel; none if it reaches none. NCCL spreads GPUs over their nets.
  std::optional<TopoVertexId> local_net(TopoVertexId gpu, int channel) const;
  /// The first GPU for which `net` is the local net on some channel.
  std::optional<TopoVertexId> local_gpu(TopoVertexId net) const;
  /// The CPU a GPU's traffic is diverted through.
  TopoVertexId local_cpu(TopoVertexId gpu) const;

  /// Nearest and farthest type between two GPUs, or between a GPU and a net.
  PathType nearest_type(TopoKind to) const;
  PathType farthest_type(TopoKind to) const;
  /// Exactly two groups of GPUs, each joined by NVLink, but not to each other.
  bool has_split_nvlink() const;

 private:
  NcclPath& known(TopoVertexId from, TopoVertexId to) {
    return paths_[index_of(from) * stride_ + index_of(to)];
  }
  void compute_paths();
  void find_paths_to(TopoVertexId base);
  void extend(TopoVertexId base, TopoVertexId at, TopoLinkId over, std::vector<TopoVertexId>& next);
  bool may_cross(TopoVertexId base, TopoVertexId at, const TopoLink& link) const;
  PathType type_after(TopoVertexId base, TopoVertexId at, const TopoLink& link) const;
  bool is_better(const NcclPath& known, const NcclPath& via, float bw, PathType type) const;
  void divert(TopoVertexId from, TopoVertexId through, TopoVertexId to);

  void divert_gpus_without_p2p(TopoVertexId gpu);
  void mark_unreachable_gpus(TopoVertexId gpu);
  bool is_p2p_allowed(TopoVertexId from, TopoVertexId to) const;
  bool has_gpu_relay(TopoVertexId from, TopoVertexId to) const;
  bool is_net_faster(TopoVertexId a, TopoVertexId b) const;

  void recognise_c2c_nets();
  void relay_to_net(TopoVertexId gpu, TopoVertexId net);
  bool can_use_gdr(TopoVertexId gpu, TopoVertexId net, bool is_read) const;
  bool is_over_c2c(TopoVertexId gpu, PathType type) const;
  TopoVertexId relay_of(TopoVertexId gpu, TopoVertexId net) const;

  void trim(int ranks, int own);

  NcclGraph graph_;
  SearchSettings settings_;
  bool uses_net_ = true;
  int domains_ = 1;
  std::vector<int> domain_of_;
  std::size_t stride_ = 0;
  std::vector<NcclPath> paths_;  ///< [from][to]
};

}  // namespace fabricast
