#include "models/studies/decide/variable_effects.hpp"

#include <algorithm>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/symmetry/run_hops.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

/// What `bench` would simulate of a call; nothing where it would not.
std::optional<CollectiveRun> simulated(const NcclCommunicator& made, const DecideRow& row) {
  if (made.ranks < 2 || made.graphs.topology.domains() > 1) return std::nullopt;
  try {
    return decide_call(made, {row.collective, row.count}).run;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Would the same run take other ways in a communicator that was made without a variable?
bool takes_other_ways(const Cluster& sample, const CollectiveRun& run,
                      const NcclCommunicator& made) {
  CollectiveRun other = run;
  other.graph = graph_of(made.model.input, run.algorithm);
  if (other.graph.gpus() != run.graph.gpus()) return true;
  other.transport = transport_rules(made, other);
  const Members some =
      Members::first(std::min(made.nodes, sample.nodes()), run.members.gpus_per_node());
  if (some.node_count() > 1 && other.transport.network != run.transport.network) return true;
  return ways_of(sample, some, run) != ways_of(sample, some, other);
}

}  // namespace

bool VariableEffect::acts_on(const DecideRow& row) const {
  if (!without) return true;
  const DecideRow& other = *without;
  return other.decision.algorithm != row.decision.algorithm ||
         other.decision.protocol != row.decision.protocol ||
         other.decision.time_us != row.decision.time_us || other.channels != row.channels ||
         other.threads != row.threads || other.chunk_bytes != row.chunk_bytes;
}

std::vector<VariableEffect> variable_effects(const Topology& topology, const DecideConfig& config,
                                             const DecideBlock& block, const DecideRow& row) {
  std::vector<VariableEffect> out;
  const auto& variables = config.environment.variables();
  const std::span<const std::string_view> acting = acting_variables();
  const std::optional<CollectiveRun> run = simulated(block.communicator, row);
  for (const auto& [name, value] : variables) {
    if (std::ranges::find(acting, name) == acting.end()) continue;
    VariableEffect effect{name, value, {}, {}, false};
    Environment rest;
    for (const auto& [other, set] : variables) {
      if (other != name) rest.set(other, set);
    }
    try {
      Job job = config;
      job.environment = rest;  // which may join nodes by NVLink
      const DescribedNodes nodes = topology.describe(nodes_of(job, block.communicator.hosts));
      const NcclCommunicator made =
          make_nccl_communicator(nodes.node, communicator_config(config, nodes, rest));
      effect.without = decide_row(made, row.collective, row.requested);
      effect.changes_ways = block.sample && run && takes_other_ways(*block.sample, *run, made);
    } catch (const Error& error) {
      effect.problem = error.reason();
    }
    out.push_back(std::move(effect));
  }
  return out;
}

}  // namespace fabricast
