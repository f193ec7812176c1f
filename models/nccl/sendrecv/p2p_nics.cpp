#include "models/nccl/sendrecv/p2p_nics.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace fabricast {
namespace {

class Exits {
 public:
  Exits(const NcclTopology& topology, int channels, int pxn_level)
      : topology_(topology),
        settings_(topology.settings()),
        pxn_level_(settings_.pxn_disable ? 0 : pxn_level) {
    const NcclGraph& graph = topology.graph();
    gpus_.resize(static_cast<std::size_t>(graph.count(TopoKind::gpu)));
    for (const TopoVertexId gpu : graph.all(TopoKind::gpu))
      gpus_[static_cast<std::size_t>(rank(gpu))] = gpu;
    for (const TopoVertexId gpu : gpus_) {
      nets_.emplace_back();
      for (int channel = 0; channel < channels; ++channel)
        nets_.back().push_back(topology.local_net(gpu, channel));
    }
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      const auto first = first_dev_.emplace(vertex(gpu).host, vertex(gpu).dev).first;
      first->second = std::min(first->second, vertex(gpu).dev);
    }
    for (int gpu = 0; gpu < gpus(); ++gpu) seats_[{vertex(gpu).host, place_in_host(gpu)}] = gpu;
    for (const TopoVertexId net : graph.all(TopoKind::net)) relays_[net] = topology.local_gpu(net);
  }

  int gpus() const { return static_cast<int>(gpus_.size()); }

  /// The GPU of `from`'s own host with the device number of `to` (ncclTopoDevToRank); -1: none. A
  /// node that is an NVLink domain of several hosts numbers its GPUs from host to host.
  int counterpart(int from, int to) const {
    const auto found = seats_.find({vertex(from).host, place_in_host(to)});
    return found == seats_.end() ? -1 : found->second;
  }

  /// `rail_gpu`: the counterpart of the receiver.
  P2pExit exit(int from, int to, int rail_gpu, int channel) const {
    const TopoVertexId gpu = gpus_[static_cast<std::size_t>(from)];
    const auto own = net_of(from, channel);
    const auto rail = rail_gpu < 0 ? std::nullopt : net_of(rail_gpu, channel);
    const P2pExit usual{own ? nic(*own) : 0, from};
    const bool may_leave_own = settings_.cross_nic == 0 || pxn_level_ != 0;
    if (!may_leave_own || !rail || from == to) return usual;
    const P2pExit alone{settings_.cross_nic == 0 ? nic(*rail) : usual.nic, from};
    if (pxn_level_ == 0) return alone;
    const auto relay = relays_.at(*rail);
    if (pxn_level_ == 1) {
      // As far as the graph's own ways go; through the relay where they do.
      const PathType type = topology_.path(gpu, *rail).type;
      if (type > PathType::pxn) return alone;
      return {nic(*rail), type == PathType::pxn && relay ? rank(*relay) : from};
    }
    if (relay && is_joined(gpu, *relay) && is_next_to(*relay, *rail))
      return {nic(*rail), rank(*relay)};
    return alone;
  }

 private:
  const TopoVertex& vertex(int gpu) const {
    return topology_.graph().vertex(gpus_[static_cast<std::size_t>(gpu)]);
  }
  int place_in_host(int gpu) const { return vertex(gpu).dev - first_dev_.at(vertex(gpu).host); }
  std::optional<TopoVertexId> net_of(int gpu, int channel) const {
    return nets_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(channel)];
  }
  int rank(TopoVertexId gpu) const { return topology_.graph().vertex(gpu).gpu.rank; }
  int nic(TopoVertexId net) const { return topology_.graph().vertex(net).dev; }
  bool is_joined(TopoVertexId a, TopoVertexId b) const {
    return topology_.path(a, b).type <= PathType::nvl;
  }
  bool is_next_to(TopoVertexId gpu, TopoVertexId net) const {
    const NcclVersion version = topology_.version();
    const bool over_c2c = version >= kNccl2_27 && settings_.pxn_c2c.value_or(version >= kNccl2_28);
    return topology_.path(gpu, net).type <= (over_c2c ? PathType::p2c : PathType::pxb);
  }

  const NcclTopology& topology_;
  const SearchSettings& settings_;
  int pxn_level_;
  std::vector<TopoVertexId> gpus_;                              ///< by number
  std::map<int, int> first_dev_;                                ///< by host
  std::map<std::pair<int, int>, int> seats_;                    ///< GPUs by host and place in it
  std::vector<std::vector<std::optional<TopoVertexId>>> nets_;  ///< by GPU, channel
  std::map<TopoVertexId, std::optional<TopoVertexId>> relays_;  ///< the GPU next to a net
};

}  // namespace

P2pNics::P2pNics(const NcclTopology& topology, int channels, int pxn_level) : channels_(channels) {
  const Exits exits(topology, channels, pxn_level);
  gpus_ = exits.gpus();
  for (int from = 0; from < gpus_; ++from) {
    for (int to = 0; to < gpus_; ++to) {
      const int rail_gpu = exits.counterpart(from, to);
      for (int channel = 0; channel < channels_; ++channel)
        exits_.push_back(exits.exit(from, to, rail_gpu, channel));
    }
  }
}

}  // namespace fabricast
