#include "models/nccl/memory/connections.hpp"

#include <algorithm>
#include <tuple>

#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

class Connector {
 public:
  Connector(const Communicator& communicator, int channel)
      : c_(communicator), input_(communicator.model.input), channel_(channel) {}

  void add_ring() {
    const RingOrder ring(input_.ring, c_.nodes, channel_, c_.version);
    for (std::uint32_t index = 0; index < ring.ranks(); ++index) {
      const int rank = ring.rank(index), next = ring.rank((index + 1) % ring.ranks());
      Connection made{rank, next};
      if (node(rank) != node(next)) {
        const NodeCrossing crossing = ring.crossing(node(rank));
        made.from_nic = crossing.from_nic;
        made.to_nic = crossing.to_nic;
      }
      add(made);
    }
  }

  void add_tree() {
    for (int rank = 0; rank < c_.ranks; ++rank)
      add_both_ways(rank, tree_links(input_.tree, c_.nodes, channel_, rank).up);
  }

  void add_nvls_tree() {
    for (int rank = 0; rank < c_.ranks; ++rank) {
      const NvlsLinks links =
          nvls_links(input_.nvls_graph, c_.nodes, c_.gpus_per_node, channel_, rank);
      if (links.head < 0 || links.up < 0) continue;
      const int nic = nic_of_head(input_.nvls_graph, rank % c_.gpus_per_node, channel_);
      add({rank, links.up, nic, nic});
      add({links.up, rank, nic, nic});
    }
  }

  /// src/transport/generic.cc: powers of two up and down, for reduce_scatter and all_gather.
  void add_pat() {
    for (int step = 1; step < c_.ranks; step *= 2)
      for (int rank = 0; rank < c_.ranks; ++rank) add_both_ways(rank, (rank + step) % c_.ranks);
  }

  std::vector<Connection> each_once() {
    const auto ends = [](const Connection& made) { return std::tuple(made.from, made.to); };
    std::ranges::stable_sort(made_, {}, ends);
    const auto same = [&](const Connection& a, const Connection& b) { return ends(a) == ends(b); };
    made_.erase(std::unique(made_.begin(), made_.end(), same), made_.end());
    return std::move(made_);
  }

 private:
  int node(int rank) const { return rank / c_.gpus_per_node; }
  void add(const Connection& made) {
    if (made.from != made.to) made_.push_back(made);
  }
  /// With the NICs of the tree. -1 = with nobody.
  void add_both_ways(int a, int b) {
    if (b < 0) return;
    const int of_a = nic_of(input_.tree, channel_, a % c_.gpus_per_node);
    const int of_b = nic_of(input_.tree, channel_, b % c_.gpus_per_node);
    add({a, b, of_a, of_b});
    add({b, a, of_b, of_a});
  }

  const Communicator& c_;
  const TunerInput& input_;
  int channel_;
  std::vector<Connection> made_;
};

}  // namespace

std::vector<Connection> connections_of(const Communicator& communicator,
                                       const std::vector<Algorithm>& algorithms, int channel) {
  Connector connector(communicator, channel);
  if (communicator.ranks == 1) return {};
  const TunerInput& input = communicator.model.input;
  for (const Algorithm algorithm : algorithms) {
    if (algorithm == Algorithm::ring) connector.add_ring();
    if (algorithm == Algorithm::tree) connector.add_tree();
    if (algorithm == Algorithm::pat) connector.add_pat();
    if (algorithm == Algorithm::nvls_tree && communicator.nodes > 1 &&
        input.nvls_graph.channel_count() > 0)
      connector.add_nvls_tree();
  }
  return connector.each_once();
}

}  // namespace fabricast
