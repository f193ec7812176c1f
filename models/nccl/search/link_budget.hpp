#pragma once
// What the channels laid so far leave of every link and net. One for all searches on a node: the
// rounding of its figures is part of NCCL's answers (src/graph/search.cc, followPath).

#include <cstdint>
#include <vector>

#include "models/nccl/node/nccl_paths.hpp"

namespace fabricast {

class LinkBudget {
 public:
  explicit LinkBudget(const NcclTopology& topology);

  /// Takes `bw` from every link of the path between two GPUs, nets or NVSwitches, or nothing if one
  /// has less. A negative bw gives back.
  bool take(TopoVertexId from, TopoVertexId to, float bw);

  /// Nets by their place in the topology. Ports of one adapter count as one.
  float net_left(int net) const { return net_left_[static_cast<std::size_t>(net)]; }
  void take_net(int net, int bw);

  /// Between a GPU and the PCIe switch or CPU above it, the lesser direction, in whole GB/s.
  int gpu_pci_bw(TopoVertexId gpu) const;

 private:
  /// A link of a path, and what passing it costs the opposite direction.
  struct Step {
    std::uint32_t link = 0, back = 0;
    float back_share = 0;
    bool is_pci = false;
  };
  struct Way {
    std::uint32_t begin = 0, end = 0;  ///< in steps_
    bool is_surcharged = false;        ///< on PCIe
  };
  void add_way(TopoVertexId from, TopoVertexId to);
  Step step_over(TopoLinkId link, bool is_from_gpu) const;
  bool is_surcharged(TopoVertexId from, const NcclPath& path) const;
  bool pass(const Step& step, float bw);

  const NcclTopology& topology_;
  std::vector<float> left_;  ///< by link
  std::vector<float> net_left_;
  std::vector<Step> steps_;
  std::vector<Way> ways_;  ///< [from][to]
};

}  // namespace fabricast
