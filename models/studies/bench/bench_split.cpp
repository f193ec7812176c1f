#include "models/studies/bench/bench_split.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/studies/bench/network.hpp"

namespace fabricast {
namespace {

/// What is known of one run only.
void check_split(const BenchConfig& config) {
  const auto refuse = [](const std::string& what) {
    throw Error(what + " is not simulated with several groups at the same time (--split) yet");
  };
  if (config.explain) refuse("--explain");
  if (config.trace) refuse("--trace");
  if (!config.network.is_plain()) refuse("--network, --routing or --background");
  for (const FaultSpec& fault : config.faults) {
    if (fault.effect == FaultSpec::Effect::down || fault.effect == FaultSpec::Effect::flap)
      refuse(fmt::format("\"{}\"", fault.text));
  }
}

/// Of a job's slow GPUs those of a group, by its ranks.
Faults faults_of(const Faults& job, const Members& members, int gpus_per_node) {
  Faults out;
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
      gpus_(config.gpus_per_node > 0 && block.cluster.node().trays() == 1
                ? config.gpus_per_node
                : static_cast<int>(block.cluster.node().gpus().size())),
      communicators_(block.cluster, wanted) {
  check_split(config);
  const std::size_t known = block.cluster.node().gpus().size();
  if (gpus_ > static_cast<int>(known))
    throw Error(fmt::format("{} GPUs per node asked for, but {} has {}", gpus_,
                            block.cluster.node().name(), known),
                "lower --gpus-per-node, or raise --nodes");
  check_processes(config, gpus_ / block.cluster.node().trays());
  block.groups = split_groups(*config.split, block.cluster.nodes(), gpus_, config.gpus_per_process);
  for (const SplitGroup& group : block.groups) {
    const Communicator& made = communicators_.like(group.members);
    check_root(config, made.ranks);
    notes_.insert(notes_.end(), made.warnings.begin(), made.warnings.end());
    if (made.model.input.collnet)
      notes_.emplace_back("SHARP: each group has trees as if it were alone.");
  }
  if (std::string note = static_instead(block.cluster); !note.empty())
    notes_.push_back(std::move(note));
}

std::optional<BenchSplit::Call> BenchSplit::call(Collective collective, Bytes size,
                                                 const Faults& faults) {
  Call out;
  const int element_bytes = datatype_bytes(config_.datatype);
  for (const SplitGroup& group : block_.groups) {
    const int ranks = group.members.ranks();
    const std::int64_t count = element_count(collective, size, element_bytes, ranks);
    if (count == 0) return std::nullopt;
    out.decided.push_back(
        communicators_.decide(group.members, {collective, count, element_bytes, config_.root}));
    CollectiveRun& run = out.decided.back().run;
    run.gpus_per_process = config_.gpus_per_process;
    run.faults = faults_of(faults, group.members, gpus_);
    out.streams.push_back({{run}, {}});
    out.ranks += ranks;
    out.channels = std::max(out.channels, run.channels);
  }
  return out;
}

std::optional<BenchRow> BenchSplit::row(Collective collective, Bytes size, const Faults& faults,
                                        const Cluster* healthy,
                                        const std::function<void(double)>& progress) {
  std::optional<Call> all = call(collective, size, faults);
  if (!all) return std::nullopt;
  check_blocks(all->ranks, all->channels, "groups run at the same time");
  const TogetherResult result =
      simulate_together(block_.cluster, software_, all->streams, progress);
  const auto [fastest, slowest] =
      std::ranges::minmax_element(result.streams, {}, &StreamResult::time);
  const auto chosen = static_cast<std::size_t>(slowest - result.streams.begin());
  BenchRow row;
  row.collective = collective;
  row.nodes = block_.nodes;
  row.decided = all->decided[chosen];
  row.ranks = row.decided.run.members.ranks();
  row.requested = size;
  row.count = row.decided.run.count;
  row.size = message_size(collective, row.count, row.decided.run.element_bytes, row.ranks);
  row.result.time = slowest->time;
  row.result.links = result.links;
  row.result.events = result.events;
  row.result.digest = result.digest;
  const SimulationResult alone = simulate(block_.cluster, software_, row.decided.run);
  row.result.launch = alone.launch;
  row.split = {static_cast<int>(block_.groups.size()), block_.groups[chosen].colour, fastest->time,
               alone.time};
  if (healthy != nullptr) {
    for (Stream& stream : all->streams) stream.runs[0].faults = {};
    row.healthy = simulate_together(*healthy, software_, all->streams).streams[chosen].time;
  }
  return row;
}

}  // namespace fabricast
