#include "models/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

constexpr bool is_executed(Algorithm algorithm) {
  return algorithm == Algorithm::ring || algorithm == Algorithm::tree;
}

template <class Wanted>
std::string listed(const std::vector<Candidate>& candidates, Wanted wanted) {
  std::string out;
  for (const Candidate& c : candidates) {
    if (c.excluded.empty() || !wanted(c.algorithm)) continue;
    out += fmt::format("\n  {} {}: {}", to_text(c.algorithm), to_text(c.protocol), c.excluded);
  }
  return out;
}

/// The best of what is executed stands in for what NCCL chose.
void stand_in(const Communicator& communicator, const Call& call, Bytes size, DecidedCall& out) {
  const Candidate* best = nullptr;
  for (const Candidate& c : out.decision.candidates) {
    if (!c.excluded.empty() || !is_executed(c.algorithm)) continue;
    if (best == nullptr || c.time_us < best->time_us) best = &c;
  }
  out.not_executed = out.decision.algorithm;
  const std::string_view chosen = to_text(*out.decision.algorithm);
  if (best == nullptr) {
    throw Error(fmt::format(
        "{}: {} is what NCCL chooses; it is not executed yet, and neither Ring "
        "nor Tree is in the race:{}",
        to_text(call.collective), chosen, listed(out.decision.candidates, is_executed)));
  }
  take(communicator.model, *best, size, out.decision);
}

}  // namespace

Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  NcclCommunicatorConfig wanted{config.version, config.environment, cluster.nodes(),
                                config.gpus_per_node, config.sharp};
  const NodeDescription node = describe(cluster.node());
  Communicator made = make_nccl_communicator(node, wanted);
  const int groups = made.graphs.topology.domains();
  if (groups == 1) return made;
  const std::string what = fmt::format(
      "the GPUs of {} fall apart into {} groups that NCCL joins by the network", node.name, groups);
  wanted.environment.set("NCCL_NET_DISABLE_INTRA", "1");
  Communicator joined = make_nccl_communicator(node, wanted);
  if (joined.graphs.topology.domains() > 1) {
    throw Error(what + "; that is not simulated yet",
                "NCCL_SHM_DISABLE and NCCL_P2P_DISABLE or NCCL_P2P_LEVEL together do that");
  }
  joined.warnings.push_back(
      what +
      "; that is not simulated yet: this is with NCCL_NET_DISABLE_INTRA=1, host memory "
      "between them.");
  return joined;
}

DecidedCall decide_call(const Communicator& communicator, const Call& call) {
  assert(call.count > 0 && call.root < communicator.ranks);
  const Bytes size =
      message_size(call.collective, call.count, call.element_bytes, communicator.ranks);
  DecidedCall out;
  out.decision = decide(communicator.model, call.collective, size, call.element_bytes);
  if (!out.decision.algorithm) {
    throw Error(fmt::format("{}: NCCL refuses the call, nothing is left to choose from:{}",
                            to_text(call.collective),
                            listed(out.decision.candidates, [](Algorithm) { return true; })));
  }
  if (!is_executed(*out.decision.algorithm)) stand_in(communicator, call, size, out);
  const TunerInput& input = communicator.model.input;
  CollectiveRun& run = out.run;
  run.version = communicator.version;
  run.collective = call.collective;
  run.algorithm = *out.decision.algorithm;
  run.protocol = out.decision.protocol;
  run.count = call.count;
  run.element_bytes = call.element_bytes;
  run.root = call.root;
  run.channels = out.decision.channels;
  run.communicator_channels = input.channels.communicator;
  run.threads = out.decision.threads;
  run.buffers = communicator.settings.buffers;
  run.transport = transport_rules(communicator.search_settings);
  run.graph = run.algorithm == Algorithm::ring ? input.ring : input.tree;
  return out;
}

}  // namespace fabricast
