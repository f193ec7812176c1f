#include "models/nccl/run/run_ways.hpp"

#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

class Ways {
 public:
  Ways(const Cluster& cluster, const Members& members, const CollectiveRun& run)
      : cluster_(cluster), members_(members), run_(run) {}

  void add_ring(int channel) {
    const GlobalRing ring = global_ring(run_.graph, members_.node_count(), channel, run_.version);
    for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
      const int from = ring.ranks[i], to = ring.ranks[(i + 1) % ring.ranks.size()];
      int from_nic = 0, to_nic = 0;
      const int place = from / gpus();
      if (place != to / gpus()) {
        const NodeCrossing& crossing = ring.crossings[static_cast<std::size_t>(place)];
        from_nic = crossing.from_nic;
        to_nic = crossing.to_nic;
      }
      add(end(from, from_nic), end(to, to_nic));
    }
  }

  void add_tree(int channel) {
    for (int rank = 0; rank < members_.ranks(); ++rank) {
      for (const int child : tree_links(run_.graph, members_.node_count(), channel, rank).down) {
        if (child < 0) continue;
        const Endpoint above = end(rank, nic_of(run_.graph, channel, rank % gpus()));
        const Endpoint below = end(child, nic_of(run_.graph, channel, child % gpus()));
        add(below, above);
        add(above, below);
      }
    }
  }

  /// NVLS, CollNet, PAT: what a channel's first GPU sends to other nodes by the channel's NIC.
  void add_heads() {
    for (const GraphChannel& channel : run_.graph.channels) {
      if (members_.node_count() == 1) return;
      const int gpu = channel.gpu_order.front();
      add(end(gpu, channel.net_in), end(gpus() + gpu, channel.net_in));
    }
  }

  std::vector<Transport> ways() && { return std::move(ways_); }

 private:
  int gpus() const { return members_.gpus_per_node(); }
  Endpoint end(int rank, int nic) const { return {members_.node(rank), members_.gpu(rank), nic}; }
  void add(Endpoint from, Endpoint to) {
    ways_.push_back(
        plan_transport(cluster_, members_.gpus(), run_.protocol, from, to, run_.transport));
  }

  const Cluster& cluster_;
  const Members& members_;
  const CollectiveRun& run_;
  std::vector<Transport> ways_;
};

}  // namespace

std::vector<Transport> ways_of(const Cluster& cluster, const Members& members,
                               const CollectiveRun& run) {
  Ways out(cluster, members, run);
  for (int channel = 0; channel < run.channels; ++channel) {
    if (run.algorithm == Algorithm::ring) out.add_ring(channel);
    if (run.algorithm == Algorithm::tree) out.add_tree(channel);
  }
  if (run.algorithm != Algorithm::ring && run.algorithm != Algorithm::tree) out.add_heads();
  return std::move(out).ways();
}

}  // namespace fabricast
