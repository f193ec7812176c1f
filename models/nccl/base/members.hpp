#pragma once
// Who is in a communicator: which GPUs of which nodes of a cluster.

#include <span>
#include <vector>

namespace fabricast {

/// A job with more is taken for a mistake in what says so.
inline constexpr int kRanksMax = 1 << 20;

/// The same GPUs of each of some nodes. Ranks are numbered node by node: rank = place of the node *
/// GPUs per node + place of the GPU.
class Members {
 public:
  Members() = default;  ///< nobody
  /// Numbers in the cluster, in the order of ranks, and in the node. Throws Error unless they are
  /// from 0 on, each once, those of GPUs ascending, and there is one of each. Where nodes are not
  /// in ascending order a run is not folded by nodes.
  Members(std::vector<int> nodes, std::vector<int> gpus);
  /// The first GPUs of the first nodes.
  static Members first(int nodes, int gpus_per_node);
  /// Ranks of a job that has the first `gpus_per_node` GPUs of every node, in ascending order.
  /// Throws Error where they are not the same GPUs of each node.
  static Members of_job(std::span<const int> ranks, int gpus_per_node);

  /// The same ranks where NCCL takes so many groups of each host's GPUs for nodes of their own: as
  /// many GPUs in each, one group after another. REQUIRES: `groups` divides the GPUs of a host.
  Members split(int groups) const;

  bool empty() const { return nodes_.empty(); }
  bool is_split() const { return groups_ > 1; }
  const std::vector<int>& nodes() const { return nodes_; }  ///< hosts, where they are split
  const std::vector<int>& gpus() const { return gpus_; }    ///< of each of these
  int node_count() const { return static_cast<int>(nodes_.size()) * groups_; }
  int gpus_per_node() const { return gpus_per_host() / groups_; }
  int ranks() const { return static_cast<int>(nodes_.size()) * gpus_per_host(); }

  int node(int rank) const { return nodes_[static_cast<std::size_t>(rank / gpus_per_host())]; }
  int gpu(int rank) const { return gpus_[static_cast<std::size_t>(rank % gpus_per_host())]; }
  /// REQUIRES: the GPU is in the communicator.
  int rank(int node, int gpu) const;

  bool operator==(const Members&) const = default;

 private:
  int gpus_per_host() const { return static_cast<int>(gpus_.size()); }

  std::vector<int> nodes_, gpus_;
  int groups_ = 1;
};

}  // namespace fabricast
