#include "models/nccl/run/together.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>

#include "models/nccl/run/link_loads.hpp"
#include "models/nccl/run/progress_share.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/schedules/joined_exchange.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

class Together {
 public:
  Together(const Cluster& cluster, const SoftwareCosts& software, std::span<const Stream> streams)
      : cluster_(cluster), software_(software), streams_(streams) {
    add_links(executor_, cluster);
    for (const Stream& stream : streams) add(stream);
    if (schedules_.blocks() == 0) return;
    exchange_.emplace(schedules_, schedules_.blocks(), exchange_threads_, executor_.queue(),
                      executor_.links());
    for (const MessageKind& kind : schedules_.kinds()) exchange_->add_kind(kind);
    executor_.host(*exchange_);
  }

  TogetherResult run(const std::function<void(double)>& progress) {
    std::uint64_t expected = 0;
    for (const Assembly& assembly : assemblies_) expected += assembly.events();
    executor_.run(progress_share(progress, expected));
    TogetherResult out;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      out.streams.push_back(result_of(streams_[i], kernels_[i]));
      out.time = std::max(out.time, streams_[i].start - Instant{} + out.streams.back().time);
    }
    out.links =
        link_loads(cluster_, out.time, [&](std::uint32_t link) { return executor_.carried(link); });
    out.events = executor_.events() + (exchange_ ? exchange_->events() : 0);
    out.digest = executor_.digest();
    return out;
  }

 private:
  /// One call on all ranks, by rank.
  using Kernel = std::vector<Parties>;

  Duration launch(const CollectiveRun& run) const {
    return software_.launch(run.protocol, cluster_.node().cpus().front().part);
  }

  void add(const Stream& stream) {
    std::vector<Kernel>& kernels = kernels_.emplace_back();
    const Members members = members_of(stream.runs.front(), cluster_.nodes());
    if (members.ranks() == 1) return;  // a copy
    std::optional<std::uint32_t> thread, exchange_thread;
    for (const CollectiveRun& run : stream.runs) {
      if (is_tuned(run.collective)) {
        kernels.push_back(add_tuned(run, members, thread));
      } else {
        kernels.push_back(add_exchange(run, exchange_thread));
      }
    }
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (int rank = 0; rank < members.ranks(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        GateSpec gate;
        gate.start = stream.start + launch(stream.runs[i]);
        gate.gap = launch(stream.runs[i]);
        if (i > 0) gate.after = kernels[i - 1][r];
        gate.waiters = kernels[i][r];
        executor_.add_gate(gate);
      }
    }
  }

  /// All calls of a stream share its proxies.
  Kernel add_tuned(const CollectiveRun& run, const Members& members,
                   std::optional<std::uint32_t>& thread) {
    const Partition& split = partitions_.emplace_back(partition_of(run, members));
    Assembly& assembly =
        assemblies_.emplace_back(executor_, cluster_, software_, run, split, thread);
    thread = assembly.first_thread();
    add_schedule(assembly);
    Kernel out;
    for (int rank = 0; rank < members.ranks(); ++rank) out.push_back({assembly.workers(rank), {}});
    return out;
  }

  /// All calls of a stream share its threads.
  Kernel add_exchange(const CollectiveRun& run, std::optional<std::uint32_t>& thread) {
    const P2pTraffic& traffic = traffics_.emplace_back(
        run.collective, run.members.ranks(), Bytes{run.count * run.element_bytes}, run.root);
    auto schedule = std::make_unique<P2pSchedule>(
        P2pSchedule::Config{cluster_, software_, run.members, run.p2p, traffic, run.transport,
                            run.in_place, nullptr, false, run.faults.gpus});
    const auto ranks = static_cast<std::uint32_t>(run.members.ranks());
    const std::uint32_t channels = schedule->blocks() / ranks;
    if (!thread) {
      thread = exchange_threads_;
      exchange_threads_ += schedule->threads();
    }
    std::uint32_t block = schedules_.add(std::move(schedule), *thread);
    Kernel out(ranks);
    for (Parties& parties : out) {
      for (std::uint32_t channel = 0; channel < channels; ++channel)
        parties.guests.push_back(block++);
    }
    return out;
  }

  Instant end_of(const Kernel& kernel) const {
    std::int64_t end = 0;
    for (const Parties& parties : kernel) {
      for (const std::uint32_t worker : parties.workers)
        end = std::max(end, executor_.finished(worker).ps);
      for (const std::uint32_t block : parties.guests)
        end = std::max(end, exchange_->finished(block).ps);
    }
    return {end};
  }

  StreamResult result_of(const Stream& stream, const std::vector<Kernel>& kernels) const {
    StreamResult out;
    Instant end = stream.start;
    Duration serialised;  // launches of one process
    for (std::size_t i = 0; i < stream.runs.size(); ++i) {
      const CollectiveRun& run = stream.runs[i];
      serialised += software_.launch_per_gpu * run.gpus_per_process;
      end = kernels.empty() ? end + launch(run) : end_of(kernels[i]);
      end = std::max(end, stream.start + serialised);
      out.ended.push_back(end);
    }
    out.time = end - stream.start;
    return out;
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  std::span<const Stream> streams_;
  Executor<PlainStamp> executor_;
  std::deque<Partition> partitions_;
  std::deque<Assembly> assemblies_;
  std::deque<P2pTraffic> traffics_;
  JoinedExchange schedules_;
  std::uint32_t exchange_threads_ = 0;
  std::optional<Exchange<PlainStamp>> exchange_;
  std::vector<std::vector<Kernel>> kernels_;  ///< by stream; none of a single rank
};

}  // namespace

TogetherResult simulate_together(const Cluster& cluster, const SoftwareCosts& software,
                                 std::span<const Stream> streams,
                                 const std::function<void(double)>& progress) {
  return Together(cluster, software, streams).run(progress);
}

}  // namespace fabricast
