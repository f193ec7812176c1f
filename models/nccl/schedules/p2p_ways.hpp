#pragma once
// Which links the messages of sends and receives cross. Nodes are equal, so what lies inside them
// is planned once per pair of GPUs.

#include <map>
#include <tuple>
#include <vector>

#include "models/hardware/cluster/fabric_routes.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/call/transport.hpp"
#include "models/nccl/sendrecv/p2p_nics.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

class P2pWays {
 public:
  /// All arguments but `routes` outlive the ways.
  P2pWays(const Cluster& cluster, const Members& members, int channels, const P2pNics& nics,
          const TransportRules& rules, const FabricRoutes& routes);

  HopKind hop(int from, int to) const;
  /// The rank whose proxy sends. REQUIRES: ranks of two nodes.
  int proxy(int from, int to, int channel) const;
  /// Threads of the exchange: one a rank, and with helpers (post_costs.hpp) one a block on top.
  std::uint32_t threads() const;
  /// REQUIRES here and below: two different ranks; LL or Simple.
  void way(int from, int to, int channel, Protocol protocol, ExchangeWay& way) const;

  /// Ways of one kind differ in their nodes alone and, where they are hashed, between switches.
  std::uint32_t kind(int from, int to, int channel, Protocol protocol) const;
  std::uint32_t kinds() const { return static_cast<std::uint32_t>(patterns_.size()); }
  /// Of a kind's way to another node, the links that stand for it: those in nodes and at their
  /// NICs, as if it went from the first node to itself. Two kinds that have the same `near`, or the
  /// same `far`, have it between any two nodes.
  void ends_of(std::uint32_t kind, ExchangeWay& way) const;

 private:
  /// A way between two equal nodes, or inside one: links are those of a NodeGraph.
  struct Route {
    std::vector<LinkId> out, in;
    VertexId from_nic{}, to_nic{};
  };
  struct Pattern {
    HopKind hop{};
    std::vector<LinkId> near;
    std::vector<Route> routes;  ///< to other nodes: one, or one per piece
    int proxy = 0;              ///< local rank
    Duration sender_flag, receiver_flag, flush;
  };

  Route route(int from_nic, int to_nic, const std::vector<LinkId>& links) const;
  void plan(int from_gpu, int to_gpu, int channel, bool remote, Protocol protocol);
  std::size_t place(int from_gpu, int to_gpu, int channel, bool remote, Protocol protocol) const;
  std::uint32_t ranks() const;
  std::uint32_t connection(int from, int to, int channel) const;
  std::uint32_t pattern(Endpoint from, Endpoint to, int proxy_gpu, Protocol protocol);

  const Cluster& cluster_;
  const Members& members_;
  int gpus_, channels_;
  const P2pNics& nics_;
  const TransportRules& rules_;
  FabricRoutes routes_;
  MessagePlanner planner_;
  std::vector<Pattern> patterns_;
  std::vector<std::uint32_t> by_place_;  ///< index in patterns_
  /// By node of the receiver, GPUs, NICs, proxy and protocol.
  std::map<std::tuple<int, int, int, int, int, int, Protocol>, std::uint32_t> known_;
};

}  // namespace fabricast
