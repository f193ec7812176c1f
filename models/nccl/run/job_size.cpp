#include "models/nccl/run/job_size.hpp"

#include <deque>
#include <optional>

#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/schedules/p2p_schedule.hpp"

namespace fabricast {
namespace {

/// Gives numbers to what is added, and keeps nothing of it.
class Numbering final : public Machine {
 public:
  std::uint32_t add_link(LinkSpec) override { return links_++; }
  std::uint32_t add_thread() override { return threads_++; }
  void set_multimem(MultimemWire) override {}
  std::uint32_t add_worker_class(const WorkerClass&) override { return worker_classes_++; }
  std::uint32_t add_relay_class(const RelayClass&) override { return relay_classes_++; }
  void start_call() override {}
  std::uint32_t add_worker(std::uint32_t, const Program&, Role) override { return workers_++; }
  std::uint32_t add_relay(std::uint32_t, std::uint32_t, std::uint32_t) override {
    return workers_++;
  }
  void connect(const ConnectionSpec&) override {}
  std::uint32_t workers() const override { return workers_; }

 private:
  std::uint32_t links_ = 0, threads_ = 0, worker_classes_ = 0, relay_classes_ = 0, workers_ = 0;
};

class Counter {
 public:
  Counter(const Cluster& cluster, const SoftwareCosts& software, const JobPlan& plan)
      : cluster_(cluster),
        software_(software),
        plan_(plan),
        copies_(static_cast<std::uint64_t>(plan.copies())) {}

  void add(const Kernel& kernel, const std::deque<CallDraft>* drafts, const Members& members,
           int rounds) {
    rounds_ = static_cast<std::uint64_t>(rounds);
    for (std::size_t i = 0; i < kernel.works.size(); ++i) {
      if (!kernel.works[i].run->has_algorithm()) {
        add_exchange(kernel.works[i], members);
      } else if (drafts != nullptr) {
        add_collective((*drafts)[i].assembly());
      } else {
        add_collective(kernel.works[i]);
      }
    }
  }

  const JobSize& size() const { return out_; }

 private:
  /// Of sends and receives.
  SimulatedLinks& links() {
    if (links_) return *links_;
    if (plan_.copies() > 1) return links_.emplace(machine_, cluster_, *plan_.symmetry());
    return links_.emplace(machine_, cluster_);
  }

  void add_collective(const QueuedWork& work) {
    SimulatedLinks few(machine_, cluster_, *plan_.symmetry());  // that are asked for: to count, few
    Assembly assembly(machine_, few, cluster_, software_, *work.run, work.partition, work.symmetry,
                      false);
    assembly.only_count();
    add_schedule(assembly);
    add_collective(assembly);
  }

  void add_collective(const Assembly& assembly) {
    out_.slices += rounds_ * copies_ * assembly.slices();
    out_.simulated += rounds_ * assembly.events();
  }

  void add_exchange(const QueuedWork& work, const Members& members) {
    std::deque<P2pTraffic> traffics;
    const P2pSchedule schedule(
        exchange_of(work, members, cluster_, software_, links(), traffics, FabricRoutes(cluster_)));
    const std::uint64_t chunks = rounds_ * schedule.chunks();
    out_.slices += copies_ * chunks;
    out_.simulated += chunks;
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  const JobPlan& plan_;
  Numbering machine_;
  std::uint64_t copies_, rounds_ = 1;
  std::optional<SimulatedLinks> links_;
  JobSize out_;
};

}  // namespace

JobSize job_size(const Cluster& cluster, const SoftwareCosts& software,
                 std::span<const Stream> streams, const JobPlan& plan, const JobDraft* draft) {
  Counter counter(cluster, software, plan);
  const bool fits = draft != nullptr && !draft->is_full();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const StreamPlan& stream = plan.streams[i];
    for (std::size_t k = 0; k < stream.kernels.size(); ++k)
      counter.add(stream.kernels[k], fits ? &draft->of(i, k) : nullptr, stream.members,
                  streams[i].rounds);
  }
  return counter.size();
}

JobSize job_size(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                 const Symmetry& symmetry) {
  const Stream stream{{run}, {}};
  return job_size(cluster, software, {&stream, 1}, plan_job(cluster, stream, symmetry));
}

}  // namespace fabricast
