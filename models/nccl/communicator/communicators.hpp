#pragma once
// The communicators of several groups on one cluster, each kind made once.

#include <map>
#include <utility>
#include <vector>

#include "models/nccl/communicator/communicator.hpp"

namespace fabricast {

class Communicators {
 public:
  /// `config`: but for the members.
  Communicators(const Cluster& cluster, CommunicatorConfig config)
      : cluster_(cluster), config_(std::move(config)) {}

  /// Of these members, or of others that are alike: as many nodes, the same GPUs of each. With
  /// SHARP it matters which nodes.
  const Communicator& like(const Members& members) {
    std::vector<int> nodes = config_.sharp ? members.nodes() : std::vector{members.node_count()};
    const std::pair key(std::move(nodes), members.gpus());
    const auto known = made_.find(key);
    if (known != made_.end()) return known->second;
    config_.members = members;
    return made_.emplace(key, make_communicator(cluster_, config_)).first->second;
  }

  /// Throws Error when NCCL refuses the call.
  DecidedCall decide(const Members& members, const Call& call) {
    return decide(members, [&](const Communicator& like) { return decide_call(like, call); });
  }
  /// The same for who decides in another way.
  template <class Decide>
  DecidedCall decide(const Members& members, const Decide& decide_as) {
    DecidedCall out = decide_as(like(members));
    const Members& made = out.run.members;  // whose hosts may be several nodes to NCCL
    out.run.members = members.split(made.node_count() / static_cast<int>(made.nodes().size()));
    return out;
  }

 private:
  const Cluster& cluster_;
  CommunicatorConfig config_;
  std::map<std::pair<std::vector<int>, std::vector<int>>, Communicator> made_;
};

}  // namespace fabricast
