#pragma once
// A communicator on a cluster: what NCCL settles once, when it is created (channels, settings,
// tuning model), and then for each call.

#include <optional>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/communicator/nccl_communicator.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/tuner/tuner.hpp"

namespace fabricast {

struct CommunicatorConfig {
  NcclVersion version = kDefaultNccl;
  Environment environment;
  /// The first so many of every node; 0 = all. Of hosts that NVLink joined, all that are there.
  int gpus_per_node = 0;
  bool sharp = false;  ///< a CollNet plugin serves all NICs
  /// What NCCL is told of each node, if it is not describe() of the cluster's: GPUs and nets in the
  /// order of the node's.
  std::optional<NodeDescription> description;
  Members members = {};                ///< if there are any: of these only
  const TunerPlugin* tuner = nullptr;  ///< asked for each call; it outlives the communicator
};

using Communicator = NcclCommunicator;

/// What NCCL settles on this cluster: what `fabricast decide` shows, with SHARP only where the
/// fabric gives its trees. Throws Error when the environment leaves nothing to work with (no
/// network between several nodes, nodes or GPUs that are not there, values NCCL refuses).
Communicator decided_communicator(const Cluster& cluster, const CommunicatorConfig& config);

/// The same, ready to be simulated. Where a host's GPUs fall apart into groups that NCCL joins by
/// the network, each is a node of its own, as to NCCL. Groups that are unlike are decided on as
/// NCCL does, too, but simulated along the rings and trees of a node that host memory joins; so are
/// sends and receives, which are also decided on that way. Throws Error as the other does, and
/// where the release has no kernels for a GPU.
Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config);

/// Its ranks as calls have them: groups of a host that falls apart are nodes of their own, where
/// they are alike. REQUIRES: made by make_communicator().
Members members_called(const Communicator& communicator);

/// What its messages cross. REQUIRES: made by make_communicator(), or one node group.
TransportRules transport_rules(const Communicator& communicator);
/// And those of a run, by what its blocks send and receive. REQUIRES: the run's collective,
/// algorithm, graph, members and custom algorithm are known.
TransportRules transport_rules(const Communicator& communicator, const CollectiveRun& run);

struct Call {
  Collective collective{};
  std::int64_t count = 0;  ///< elements, NCCL's meaning (message_size())
  int element_bytes = 4;
  int root = 0;
  int calls = 1;  ///< so many of them in one group
};

/// What NCCL decides about a call, ready to be simulated.
struct DecidedCall {
  TunerDecision decision;
  CollectiveRun run;
};
/// Throws Error when NCCL refuses the call. REQUIRES: count > 0, root < ranks.
DecidedCall decide_call(const Communicator& communicator, const Call& call);
/// As if this candidate of decide() had won. REQUIRES: it is not excluded; a tuned collective.
DecidedCall decided_as(const Communicator& communicator, const Call& call,
                       const Candidate& candidate);

}  // namespace fabricast
