#pragma once
// Who sends to whom in a run and which ways that takes, as its schedule connects ranks; no time.

#include <optional>
#include <vector>

#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

class RunHops {
 public:
  /// A rank that a channel's block sends to, and the NICs of both, where it is on another node.
  struct Hop {
    int to = 0;
    Endpoint near, far;
    std::optional<int> proxy = std::nullopt;  ///< GPU that sends, if the message says so
  };

  /// The members take the place of the run's.
  RunHops(const Cluster& cluster, const CollectiveRun& run, const Members& members)
      : cluster_(cluster),
        run_(run),
        members_(members),
        planner_(cluster, members.gpus(), run.transport) {}

  /// In an order that is the same for all ranks. What crosses no link of a host but those to an
  /// NVSwitch is left out, and of CollNet and SHARP there is one way, to the next node, for each
  /// channel. Of sends and receives those to the next node, as all others are reached by the same
  /// NICs.
  std::vector<Hop> from(int channel, int rank) const;
  /// Of these, the ones to other nodes.
  std::vector<Hop> leaving(int channel, int rank) const;
  Transport way(const Hop& hop) const;

 private:
  void add(std::vector<Hop>& out, int channel, int rank, int to) const;
  void add_ring(std::vector<Hop>& out, int channel, int rank) const;
  void add_messages(std::vector<Hop>& out, int channel, int rank) const;
  void add_head(std::vector<Hop>& out, int channel, int rank) const;
  int next_node(int rank) const;
  bool is_near(int a, int b) const {
    return a / members_.gpus_per_node() == b / members_.gpus_per_node();
  }
  Endpoint end(int rank, int nic) const { return {members_.node(rank), members_.gpu(rank), nic}; }

  const Cluster& cluster_;
  const CollectiveRun& run_;
  const Members& members_;
  MessagePlanner planner_;
};

/// The ways of every hop, by channel and rank. REQUIRES: as simulate(); several ranks.
std::vector<Transport> ways_of(const Cluster& cluster, const Members& members,
                               const CollectiveRun& run);

}  // namespace fabricast
