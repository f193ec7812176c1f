#include "models/nccl/communicator/custom_call.hpp"

#include <fmt/format.h>

#include "models/nccl/communicator/p2p_call.hpp"

namespace fabricast {

DecidedCall custom_call(const Communicator& communicator, const Call& call,
                        const CustomAlgorithm& algorithm, Protocol protocol) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(Place{algorithm.file, 0, {}}, what, hint);
  };
  if (algorithm.ranks != communicator.ranks)
    refuse(fmt::format("{} is for {} ranks, the communicator has {}", algorithm.name,
                       algorithm.ranks, communicator.ranks),
           "--nodes and --gpus-per-node say how many there are");
  if (algorithm.collective != call.collective)
    refuse(fmt::format("{} is for {}, not {}", algorithm.name, to_text(algorithm.collective),
                       to_text(call.collective)),
           fmt::format("--collective {}", to_text(algorithm.collective)));
  if (has_root(call.collective) && algorithm.root != call.root)
    refuse(fmt::format("{} has root {}, not {}", algorithm.name, algorithm.root, call.root),
           fmt::format("--root {}", algorithm.root));
  if (!communicator.joined.empty())
    return custom_call(communicator.joined.front(), call, algorithm, protocol);
  DecidedCall out;
  CollectiveRun& run = out.run;
  run.version = communicator.version;
  run.collective = call.collective;
  run.algorithm = Algorithm::ring;
  run.protocol = protocol;
  run.count = call.count;
  run.element_bytes = call.element_bytes;
  run.root = call.root;
  run.calls = call.calls;
  run.channels = run.communicator_channels = algorithm.channels();
  run.members = communicator.members;
  run.buffers = communicator.settings.buffers;
  run.custom = &algorithm;
  run.transport = transport_rules(communicator, run);
  if (communicator.nodes > 1) run.p2p = p2p_plan(communicator);
  return out;
}

std::vector<Protocol> protocols_of(const CustomAlgorithm& algorithm) {
  if (algorithm.protocol) return {*algorithm.protocol};
  return {Protocol::ll, Protocol::ll128, Protocol::simple};
}

}  // namespace fabricast
