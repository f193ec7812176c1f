#include "models/studies/bench/bench_split.hpp"

#include <algorithm>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/nccl/run/period.hpp"
#include "models/studies/bench/bench_call.hpp"

namespace fabricast {
namespace {

/// Of a job's slow GPUs those of a group, by its ranks. Links are everybody's.
Faults faults_of(const Faults& job, const Members& members, int gpus_per_node) {
  Faults out = job;
  out.gpus.clear();
  for (int rank = 0; rank < members.ranks(); ++rank) {
    const int of_job = members.node(rank) * gpus_per_node + members.gpu(rank);
    for (const Faults::SlowGpu& slow : job.gpus) {
      if (slow.rank == of_job) out.gpus.push_back({rank, slow.speed});
    }
  }
  return out;
}

}  // namespace

BenchSplit::BenchSplit(const BenchConfig& config, const SoftwareCosts& software,
                       const CommunicatorConfig& wanted, BenchBlock& block)
    : config_(config),
      software_(software),
      block_(block),
      gpus_(gpus_used(block.cluster, config.gpus_per_node)),
      communicators_(block.cluster, wanted) {
  check_processes(config, gpus_ / block.cluster.node().trays());
  block.groups = split_groups(*config.split, block.cluster.nodes(), gpus_, config.gpus_per_process);
  for (const SplitGroup& group : block.groups) {
    const Communicator& made = communicators_.like(group.members);
    check_root(config, made.ranks);
    notes_.insert(notes_.end(), made.warnings.begin(), made.warnings.end());
    if (made.model.input.collnet)
      notes_.emplace_back("SHARP: each group has trees as if it were alone.");
  }
}

int BenchSplit::ranks() const {
  int out = 0;
  for (const SplitGroup& group : block_.groups) out += group.members.ranks();
  return out;
}

std::optional<BenchSplit::Calls> BenchSplit::calls(Collective collective, Bytes size,
                                                   const Faults& faults, const Cluster& healthy) {
  Calls out;
  const int element_bytes = datatype_bytes(config_.datatype);
  for (const SplitGroup& group : block_.groups) {
    const std::int64_t count =
        element_count(collective, size, element_bytes, group.members.ranks());
    if (count == 0) return std::nullopt;
    const Call call{collective, count, element_bytes, config_.root, config_.calls};
    const auto decide = [&](const Communicator& like) {
      return decide_row(config_, healthy, software_, like, call);
    };
    out.decided.push_back(communicators_.decide(group.members, decide));
    CollectiveRun& run = out.decided.back().run;
    run.launches_in_a_row = config_.launches_in_a_row();
    run.faults = faults_of(faults, group.members, gpus_);
    out.streams.push_back({{run}, {}});
  }
  return out;
}

std::vector<Duration> BenchSplit::times(const Cluster& cluster, const std::vector<Stream>& streams,
                                        const StreamsResult& result,
                                        const SimulationOptions& options) const {
  std::vector<Duration> out;
  if (config_.one_shot) {
    for (const StreamResult& group : result.streams) out.push_back(group.time);
    return out;
  }
  std::vector<CollectiveRun> groups;
  for (const Stream& stream : streams) groups.push_back(stream.runs.front());
  return periods_of(cluster, software_, groups, result, options);
}

BenchRow BenchSplit::row(const Calls& calls, Bytes size, const StreamsResult& result,
                         const SimulationOptions& options) const {
  const std::vector<Duration> groups = times(block_.cluster, calls.streams, result, options);
  const auto [fastest, longest] = std::ranges::minmax_element(groups);
  const auto chosen = static_cast<std::size_t>(longest - groups.begin());
  const StreamResult& slowest = result.streams[chosen];
  BenchRow row;
  row.decided = calls.decided[chosen];
  const CollectiveRun& run = row.decided.run;
  row.collective = run.collective;
  row.nodes = block_.nodes;
  row.ranks = run.members.ranks();
  row.requested = size;
  row.count = run.count;
  row.size = message_size(run.collective, row.count, run.element_bytes, row.ranks);
  static_cast<RunFacts&>(row.result) = result;
  row.result.time = slowest.time;
  row.result.causes = slowest.causes;
  for (const Instant finish : slowest.rank_finish)
    row.result.rank_finish.push_back(finish - Instant{});
  const Symmetry symmetry = find_symmetry(block_.cluster, run);
  const SimulationResult one = simulate(block_.cluster, software_, run, symmetry, options);
  row.result.launch = options.explain ? slowest.launch : one.launch;
  Duration alone = one.time;
  if (!config_.one_shot) {
    row.in_a_row = groups[chosen];
    alone = period_of(block_.cluster, software_, run, symmetry, one, options);
  }
  row.split = {static_cast<int>(block_.groups.size()), block_.groups[chosen].colour, *fastest,
               alone, chosen};
  return row;
}

}  // namespace fabricast
