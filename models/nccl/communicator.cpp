#include "models/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "models/hardware/sharp.hpp"
#include "models/nccl/call_plan.hpp"
#include "models/nccl/p2p_call.hpp"

namespace fabricast {
namespace {

std::string listed(const std::vector<Candidate>& candidates) {
  std::string out;
  for (const Candidate& c : candidates) {
    if (!c.excluded.empty())
      out += fmt::format("\n  {} {}: {}", to_text(c.algorithm), to_text(c.protocol), c.excluded);
  }
  return out;
}

/// What `decision` makes of the call.
CollectiveRun run_of(const Communicator& communicator, const Call& call,
                     const TunerDecision& decision) {
  CollectiveRun run;
  run.version = communicator.version;
  run.collective = call.collective;
  run.algorithm = *decision.algorithm;
  run.protocol = decision.protocol;
  run.count = call.count;
  run.element_bytes = call.element_bytes;
  run.root = call.root;
  run.calls = call.calls;
  run.channels = decision.channels;
  const PartitionInput split =
      split_of(communicator.model, call.collective, call.count, call.element_bytes, decision);
  run.communicator_channels = split.communicator_channels;
  run.heads = split.heads;
  run.members = communicator.members;
  run.threads = decision.threads;
  run.buffers = communicator.settings.buffers;
  run.transport = transport_rules(communicator);
  run.graph = graph_of(communicator.model.input, run.algorithm);
  return run;
}

}  // namespace

Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  if (!config.members.empty() && config.members.nodes().back() >= cluster.nodes())
    throw Error(fmt::format("there is no node{}: there are {} (node0..node{})",
                            config.members.nodes().back(), cluster.nodes(), cluster.nodes() - 1));
  NcclCommunicatorConfig wanted{config.version, config.environment, cluster.nodes(),
                                cluster.node().trays() > 1 ? 0 : config.gpus_per_node,
                                config.sharp};
  wanted.trays = cluster.node().trays();
  wanted.members = config.members;
  const NodeDescription node = config.description ? *config.description : describe(cluster.node());
  Communicator made = make_nccl_communicator(node, wanted);
  if (made.model.input.collnet) {
    wanted.no_sharp = sharp_refusal(cluster, made.members.nodes(), made.nics);
    if (!wanted.no_sharp.empty()) made = make_nccl_communicator(node, wanted);
  }
  const int groups = made.graphs.topology.domains();
  if (groups == 1) return made;
  const std::string what = fmt::format(
      "the GPUs of {} fall apart into {} groups that NCCL joins by the network", node.name, groups);
  if (cluster.node().trays() > 1) {
    throw Error(what + "; that is not simulated between hosts of an NVLink domain",
                "NCCL_MNNVL_ENABLE=0 makes every host a node of its own");
  }
  const bool may_not = made.search_settings.net_disable_intra;
  if (cluster.node().nics().empty() || may_not) {
    throw Error(fmt::format("{}, but {}", what,
                            may_not ? "NCCL_NET_DISABLE_INTRA=1 forbids that" : "it has no NIC"),
                "NCCL_SHM_DISABLE and NCCL_P2P_DISABLE or NCCL_P2P_LEVEL together do that");
  }
  wanted.environment.set("NCCL_NET_DISABLE_INTRA", "1");
  wanted.environment.set("NCCL_SHM_DISABLE", "0");
  wanted.environment.set("NCCL_NVLS_ENABLE", "0");  // it does not join what falls apart
  wanted.sharp = false;
  Communicator joined = make_nccl_communicator(node, wanted);
  joined.domain_of.resize(cluster.node().gpus().size());
  for (std::size_t i = 0; i < made.members.gpus().size(); ++i) {
    joined.domain_of[static_cast<std::size_t>(made.members.gpus()[i])] =
        made.graphs.topology.domain_of()[i];
  }
  joined.warnings.push_back(
      what +
      ": so do their bytes here, but algorithms, channels and sizes are those that NCCL decides on "
      "with host memory between them.");
  return joined;
}

TransportRules transport_rules(const Communicator& communicator) {
  TransportRules rules = transport_rules(communicator.search_settings, communicator.version);
  rules.p2p_level = communicator.graphs.topology.p2p_level();
  rules.network = communicator.network;
  rules.domain_of = communicator.domain_of;
  return rules;
}

DecidedCall decide_call(const Communicator& communicator, const Call& call) {
  assert(call.count > 0 && call.root < communicator.ranks);
  assert(is_tuned(call.collective) || call.calls == 1);
  if (!is_tuned(call.collective)) return decide_p2p_call(communicator, call);
  const Bytes size =
      message_size(call.collective, call.count, call.element_bytes, communicator.ranks);
  DecidedCall out;
  out.decision = decide(communicator.model, call.collective, size, call.element_bytes, call.calls);
  if (!out.decision.algorithm) {
    throw Error(fmt::format("{}: NCCL refuses the call, nothing is left to choose from:{}",
                            to_text(call.collective), listed(out.decision.candidates)));
  }
  out.run = run_of(communicator, call, out.decision);
  return out;
}

DecidedCall decided_as(const Communicator& communicator, const Call& call,
                       const Candidate& candidate) {
  assert(candidate.excluded.empty());
  DecidedCall out;
  take(communicator.model, candidate,
       message_size(call.collective, call.count, call.element_bytes, communicator.ranks),
       out.decision);
  out.run = run_of(communicator, call, out.decision);
  return out;
}

}  // namespace fabricast
