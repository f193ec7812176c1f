#pragma once
// Presets under simulate(), and hand-made calls on them.

#include <string>

#include "models/io/topologies/load.hpp"
#include "models/nccl/run/simulation.hpp"

namespace fabricast::testing {

/// Blocks copy infinitely fast, software costs nothing: what is left are links and latencies.
inline PartsCatalogue bare_parts() {
  PartsCatalogue parts = load_catalogue();
  for (auto& [name, gpu] : parts.gpus) {
    gpu.copy_rate = {};
    gpu.launch.reset();
    gpu.overhead = {};
  }
  parts.software = SoftwareCosts{};
  return parts;
}

/// A preset, and what its software costs.
struct Bench {
  PartsCatalogue parts;
  Cluster cluster;

  Bench(const std::string& name, int nodes, const PartsCatalogue& from)
      : parts(from), cluster(load_cluster({name, nodes, ""}, from)) {}
  SimulationResult run(const CollectiveRun& call, bool explain = false) const {
    SimulationOptions options;
    options.explain = explain;
    return simulate(cluster, parts.software, call, options);
  }
};

/// One search channel with the GPUs 0..gpus-1 in order, NIC 0 at both ends.
inline ChannelGraph one_channel(GraphPattern pattern, int gpus) {
  ChannelGraph graph;
  graph.pattern = pattern;
  GraphChannel channel;
  for (int g = 0; g < gpus; ++g) channel.gpu_order.push_back(g);
  channel.net_in = channel.net_out = 0;
  graph.channels.push_back(channel);
  return graph;
}

inline CollectiveRun ring_call(Collective collective, Protocol protocol, int gpus,
                               std::int64_t count) {
  CollectiveRun run;
  run.version = kNccl2_21_5;
  run.collective = collective;
  run.algorithm = Algorithm::ring;
  run.protocol = protocol;
  run.count = count;
  run.threads = protocol == Protocol::ll128 ? 640 : 512;
  run.graph = one_channel(GraphPattern::ring, gpus);
  return run;
}

inline CollectiveRun tree_call(Protocol protocol, int gpus, std::int64_t count) {
  CollectiveRun run = ring_call(Collective::all_reduce, protocol, gpus, count);
  run.algorithm = Algorithm::tree;
  run.graph.pattern = GraphPattern::balanced_tree;
  return run;
}

}  // namespace fabricast::testing
