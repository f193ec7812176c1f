#include "models/nccl/communicator.hpp"

#include <fmt/format.h>

#include <cassert>

namespace fabricast {

Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  return make_nccl_communicator(
      describe(cluster.node()),
      {config.version, config.environment, cluster.nodes(), config.gpus_per_node, config.sharp});
}

DecidedCall decide_call(const Communicator& communicator, const Call& call) {
  assert(call.count > 0 && call.root < communicator.ranks);
  const Bytes size =
      message_size(call.collective, call.count, call.element_bytes, communicator.ranks);
  DecidedCall out;
  out.decision = decide(communicator.model, call.collective, size);
  if (!out.decision.algorithm) {
    std::string why;
    for (const Candidate& candidate : out.decision.candidates) {
      if (candidate.excluded.empty()) continue;
      why += fmt::format("\n  {} {}: {}", to_text(candidate.algorithm), to_text(candidate.protocol),
                         candidate.excluded);
    }
    throw Error(fmt::format("{}: no algorithm is left that is executed here (Ring, Tree):{}",
                            to_text(call.collective), why));
  }
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
  run.graph = run.algorithm == Algorithm::ring ? input.ring : input.tree;
  return out;
}

}  // namespace fabricast
