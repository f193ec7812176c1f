#include "models/studies/bench/bench_call.hpp"

#include "models/nccl/communicator/custom_call.hpp"

namespace fabricast {

DecidedCall decide_row(const BenchConfig& config, const Cluster& cluster,
                       const SoftwareCosts& software, const Communicator& communicator,
                       const Call& call) {
  if (!config.custom) return decide_call(communicator, call);
  const std::vector<Protocol> protocols = protocols_of(*config.custom);
  DecidedCall best;
  Duration least;
  for (const Protocol protocol : protocols) {
    DecidedCall one = custom_call(communicator, call, *config.custom, protocol);
    if (protocols.size() == 1) return one;
    SimulationOptions options;
    options.fast_forward = config.fold;
    const Duration time = simulate(cluster, software, one.run, options).time;
    if (best.run.custom && time >= least) continue;
    best = std::move(one);
    least = time;
  }
  return best;
}

}  // namespace fabricast
