#pragma once
// One attempt of the graph search: with the draft's bandwidths and types fixed, lays channel upon
// channel depth first and keeps the best set it comes across. Restates the recursive part of
// src/graph/search.cc of NCCL 2.21 to 2.30; that it is counted in steps and not in time is NCCL's.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/nccl/search/graph_draft.hpp"
#include "models/nccl/search/link_budget.hpp"

namespace fabricast {

class ChannelSearch {
 public:
  ChannelSearch(const NcclTopology& topology, LinkBudget& budget);

  /// What is left of `steps`; kPerfect if `best` got as many channels as wanted.
  int run(GraphDraft& draft, GraphDraft& best, int steps);
  static constexpr int kPerfect = -1;

  /// Nets in the order in which a GPU tries them, or all channels together (gpu -1).
  std::span<const int> nets_of(int gpu, PathType type_inter) const;

 private:
  /// How the next GPU of a channel is chosen.
  enum class Order { free, by_index, replay };
  /// At which position a channel goes back to the net, or to its first GPU. -1 = not (any more).
  struct Ends {
    int net = -1, first_gpu = -1;
  };

  std::vector<int> collect_nets(int gpu, PathType farthest) const;
  void add_local_nets(int gpu, std::vector<int>& nets) const;

  void next_channel();
  void start_inside();
  void start_at_nets();
  bool may_start_at(int net) const;
  bool start_head_at(int net, int nets);
  void start_channel_at(int net);
  void try_index_order(int net);
  void try_nearest_gpus(int net);
  void try_local_gpus(int net);
  bool is_taken_head(int net, int nets) const;

  /// `from` none: the channel starts here, at no cost.
  void try_gpu(std::optional<TopoVertexId> from, int gpu, int position, Ends ends, Order order);
  void visit(int gpu, int position, Ends ends, Order order);
  void finish_channel();
  void return_to_net(int gpu, int position, Ends ends, Order order);
  bool may_end_at(int net, int position) const;
  void go_on(int gpu, int position, Ends ends, Order order);
  void close_ring(int gpu);
  void try_nvls_head(int gpu);
  void try_collnet_head(int gpu);

  std::vector<int> next_gpus(int gpu, int position, Ends ends) const;
  std::vector<int> free_neighbours(int gpu) const;
  bool is_free(int from, int to) const;
  Ends ends() const;

  /// Books a way between two vertices for the current channel. A share other than 1 is a multiple
  /// of the channel's bandwidth, negative to give it back.
  bool walk(TopoVertexId from, TopoVertexId to, float share);
  bool walk_to_net(int gpu, int net, float share);

  const TopoVertexId& gpu(int place) const { return gpus_[static_cast<std::size_t>(place)]; }
  TopoVertexId net(int place) const { return nets_[static_cast<std::size_t>(place)]; }
  int gpu_count() const { return static_cast<int>(gpus_.size()); }
  bool is_same_port(int a, int b) const;
  bool is_version(NcclVersion least) const { return topology_.version() >= least; }

  const NcclTopology& topology_;
  LinkBudget& budget_;
  std::vector<TopoVertexId> gpus_, nets_;
  std::vector<int> local_gpus_;               ///< by net; -1 = none
  std::vector<std::vector<int>> near_gpus_;   ///< by net
  std::vector<std::vector<int>> candidates_;  ///< [type][gpu + 1]
  std::vector<std::uint64_t> used_;           ///< by GPU: one bit per channel

  GraphDraft* draft_ = nullptr;
  GraphDraft* best_ = nullptr;
  int steps_ = 0;
};

}  // namespace fabricast
