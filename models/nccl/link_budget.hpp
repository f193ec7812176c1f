#pragma once
// What the channels laid so far leave of every link and net. One for all searches on a node: the
// rounding of its figures is part of NCCL's answers (src/graph/search.cc, followPath).

#include <span>
#include <vector>

#include "models/nccl/nccl_paths.hpp"

namespace fabricast {

class LinkBudget {
 public:
  explicit LinkBudget(const NcclTopology& topology);

  /// Takes `bw` from every link of the path, or nothing if one has less. A negative bw gives back.
  bool take(const NcclPath& path, TopoVertexId start, float bw);

  float left(TopoLinkId link) const { return left_[index_of(link)]; }
  /// Nets by their place in the topology. Ports of one adapter count as one.
  float net_left(int net) const { return net_left_[static_cast<std::size_t>(net)]; }
  void take_net(int net, int bw);

  /// Between a GPU and the PCIe switch or CPU above it, the lesser direction, in whole GB/s.
  int gpu_pci_bw(TopoVertexId gpu) const;

 private:
  /// What a link costs its opposite direction.
  struct Return {
    TopoLinkId link{};
    float share = 0;          ///< of the bandwidth taken
    bool from_gpus = false;   ///< also on paths that start at a GPU
  };
  Return return_of(const TopoLink& link) const;
  float pci_bw(const NcclPath& path, TopoVertexId start, float bw) const;
  bool take_link(TopoLinkId link, const Return& back, float forward, float backward);

  const NcclTopology& topology_;
  std::vector<float> left_;
  std::vector<float> net_left_;
  std::vector<Return> returns_;  ///< by link
};

}  // namespace fabricast
