#pragma once
// Which links the tokens cross: NVLink inside a node; between nodes from a GPU through a NIC of its
// own to the NIC of the other GPU (GPUDirect RDMA that the GPU starts itself, IBGDA). The links are
// those of the cluster; only the share of NVLink's rate is the kernel's own.

#include <cstdint>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

class EpWays {
 public:
  /// The first `gpus` of every node take part. Throws Error where two of them have no NVLink to
  /// each other, or where there are several nodes and a GPU has no NIC. The cluster outlives it.
  /// `nodes`: which of the cluster; empty = all.
  EpWays(const Cluster& cluster, int gpus, std::vector<int> nodes = {});

  int gpus() const { return gpus_; }  ///< per node
  int nodes() const { return static_cast<int>(nodes_.size()); }
  int ranks() const { return gpus_ * nodes(); }
  const Cluster& cluster() const { return cluster_; }
  /// Appends the cluster's links from one rank to another; none to itself.
  void add(int from, int to, std::vector<std::uint32_t>& links) const;
  /// The NIC of a GPU, as its number in the node. REQUIRES: several nodes.
  int nic(int gpu) const { return nics_[static_cast<std::size_t>(gpu)]; }

 private:
  struct Side {
    std::vector<LinkId> out, in;  ///< from the GPU to its NIC, and back
  };
  void add_local(int node, const std::vector<LinkId>& route,
                 std::vector<std::uint32_t>& links) const;

  const Cluster& cluster_;
  int gpus_;
  std::vector<int> nodes_;
  std::vector<std::vector<LinkId>> inside_;  ///< by pair of GPUs
  std::vector<int> nics_;                    ///< by GPU
  std::vector<Side> sides_;
};

}  // namespace fabricast
