#include "models/nccl/run/call_group.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "models/nccl/run/link_loads.hpp"
#include "models/nccl/run/progress_share.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

/// The parts of each call.
std::deque<Partition> by_call(const Partition& all) {
  std::deque<Partition> out;
  for (const ChannelPart& part : all.parts) {
    if (out.empty() || out.back().parts.front().call != part.call)
      out.push_back({all.element_bytes, all.shape, {}, all.is_strided});
    out.back().parts.push_back(part);
  }
  return out;
}

template <class Stamp>
class CallGroup {
 public:
  CallGroup(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
            const Partition& partition)
      : calls_(by_call(partition)) {
    add_links(executor_, cluster);
    std::optional<std::uint32_t> thread;
    for (const Partition& call : calls_) {
      Assembly& assembly =
          assemblies_.emplace_back(executor_, cluster, software, run, call, thread);
      thread = assembly.first_thread();
      add_schedule(assembly);
    }
    for (int rank = 0; rank < ranks(); ++rank) add_gates(rank);
  }

  int ranks() const { return assemblies_.front().ranks(); }
  int nodes() const { return assemblies_.front().nodes(); }

  void run(const std::function<void(double)>& progress) {
    std::uint64_t expected = 0;
    for (const Assembly& assembly : assemblies_) expected += assembly.events();
    executor_.run(progress_share(progress, expected));
  }

  Executor<Stamp>& executor() { return executor_; }
  const std::deque<Assembly>& assemblies() const { return assemblies_; }

 private:
  /// A work waits for the one before it on its channel.
  void add_gates(int rank) {
    std::map<int, std::vector<std::uint32_t>> before;  // by channel
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      const std::vector<ChannelPart>& parts = calls_[call].parts;
      for (std::uint32_t lane = 0; lane < parts.size(); ++lane) {
        const std::vector<std::uint32_t> workers = assemblies_[call].workers(rank, lane);
        std::vector<std::uint32_t>& earlier = before[parts[lane].channel];
        if (!earlier.empty()) executor_.add_gate({{}, {earlier, {}}, {}, {workers, {}}});
        earlier = workers;
      }
    }
  }

  Executor<Stamp> executor_;
  std::deque<Partition> calls_;
  std::deque<Assembly> assemblies_;  ///< by call
};

template <class Stamp>
SimulationResult simulate_as(const Cluster& cluster, const SoftwareCosts& software,
                             const CollectiveRun& run, Partition partition,
                             const std::function<void(double)>& progress) {
  CallGroup<Stamp> group(cluster, software, run, partition);
  group.run(progress);
  Executor<Stamp>& executor = group.executor();
  const Stamp end = executor.makespan();
  SimulationResult result;
  result.partition = std::move(partition);
  result.time = {end.ps};
  for (int i = 0; i < kCauses; ++i)
    result.causes[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  for (int rank = 0; rank < group.ranks(); ++rank) {
    Duration finish;
    for (const Assembly& assembly : group.assemblies()) {
      for (const std::uint32_t worker : assembly.workers(rank))
        finish = std::max(finish, Duration{executor.finished(worker).ps});
    }
    result.rank_finish.push_back(finish);
  }
  result.links =
      link_loads(cluster, result.time, [&](std::uint32_t link) { return executor.carried(link); });
  result.events = executor.events();
  for (const Assembly& assembly : group.assemblies()) result.slices += assembly.slices();
  result.nodes_simulated = group.nodes();
  result.why_not_folded = find_fold(cluster, run).why_not;
  result.digest = executor.digest();
  return result;
}

}  // namespace

SimulationResult simulate_group(const Cluster& cluster, const SoftwareCosts& software,
                                const CollectiveRun& run, Partition partition, bool explain,
                                const std::function<void(double)>& progress) {
  return explain ? simulate_as<CausalStamp>(cluster, software, run, std::move(partition), progress)
                 : simulate_as<PlainStamp>(cluster, software, run, std::move(partition), progress);
}

}  // namespace fabricast
