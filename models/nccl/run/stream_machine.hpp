#pragma once
// Builds the kernels of streams on one machine, with gates between them, and runs it.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/nccl/run/job_draft.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/nccl/run/timeline_watch.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/schedules/call_draft.hpp"
#include "models/nccl/schedules/joined_exchange.hpp"
#include "models/nccl/symmetry/job_plan.hpp"
#include "sim/machines/exchange.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {

/// When kernels begin.
enum class Launching : std::uint8_t {
  left_out,  ///< those of a stream's first run at once: the clock starts when they are launched
  as_gates   ///< as the stream says
};

template <class Stamp>
class StreamMachine {
 public:
  struct Setting {
    const Cluster& cluster;
    const SoftwareCosts& software;
    std::span<const Stream> streams;
    const JobPlan& plan;
    Launching launching = Launching::as_gates;
    bool is_full = true;         ///< every rank and channel is simulated
    Carrier* carrier = nullptr;  ///< with a CausalStamp
    std::optional<EcmpSeeds> hashes =
        std::nullopt;  ///< of ways between nodes; none: by destination
    TimelineWatch* watch = nullptr;
    const JobDraft* draft = nullptr;  ///< of the plan, as full; none: calls are assembled here
  };

  /// All that the setting names outlives the machine.
  explicit StreamMachine(const Setting& setting);

  /// Events that it is going to have, blocks that send and receive left out: of the full run.
  std::uint64_t full_events() const { return full_events(events_planned()); }
  /// Looks for repetition from this event on.
  void fast_forward(std::uint64_t first_look);
  void run(const std::function<void(double)>& progress);
  /// See Executor. REQUIRES: collectives, of a draft that may be resized before each run.
  void keep_start() { executor_.keep_start(); }
  void rewind() { executor_.rewind(); }

  // Results.
  RunFacts facts(Duration time) const;
  /// The end of everything, or of one kernel.
  Stamp makespan() const { return executor_.makespan(); }
  Stamp end_of(std::size_t stream, std::size_t kernel) const;
  std::vector<Instant> rank_finish(std::size_t stream) const;
  /// None where the only rank copies.
  std::size_t kernels(std::size_t stream) const { return kernels_[stream].size(); }
  const Losses& losses() const { return executor_.losses(); }

 private:
  /// One call on all ranks, by rank; of ranks that are alike all have the first one's.
  struct Built {
    std::vector<Parties> parties;
    // Workers that wait for another work of the kernel, and those that one waits for; ascending.
    std::vector<std::uint32_t> behind, before;
    std::vector<bool> is_first;      ///< by rank
    std::optional<BuiltCall> alone;  ///< of a collective that is the kernel's only work
  };
  /// What the kernels of a stream share: proxies.
  struct Threads {
    std::optional<std::uint32_t> executor, exchange;
    const CallDraft* last = nullptr;  ///< that was built last
    /// Of sends and receives, by kernel: each is called in all rounds.
    std::vector<const P2pSchedule*> exchanges;
  };

  Machine& machine();
  void add_stream(std::size_t number);
  Built add_kernel(std::size_t stream, std::size_t number, Threads& threads);
  BuiltCall build(const QueuedWork& work, const CallDraft* draft, std::size_t stream,
                  Threads& threads);
  void add_works(const Kernel& kernel, const std::deque<CallDraft>* drafts, const CallLabel& label,
                 Threads& threads, Built& out);
  void add_work_gates(const Kernel& kernel, std::size_t first_call, Built& out);
  const P2pSchedule& exchange_for(std::size_t kernel, std::size_t stream, Threads& threads);
  /// A stream's calls are those of one communicator.
  FabricRoutes routes(std::size_t stream) const {
    return FabricRoutes(at_.cluster, at_.hashes, stream);
  }
  void add_exchange(const P2pSchedule& schedule, const CallLabel& label, Threads& threads,
                    Built& out);
  static Parties without(Parties parties, const std::vector<std::uint32_t>& workers);
  static Parties all_starters(const Built& kernel);
  void add_gates(const Stream& stream, const std::vector<Built>& kernels);
  void add_proxy_gates(const Built& before, const Built& kernel);
  Duration launch(const CollectiveRun& run) const;
  void start_exchange();
  void break_links();
  std::uint64_t events_planned() const;
  std::uint64_t full_events(std::uint64_t had) const;
  Stamp end_of(const Parties& parties, Stamp so_far) const;
  Bytes carried(std::uint32_t link) const;
  std::vector<LinkLoad> loads(Duration time) const;

  Setting at_;
  Executor<Stamp> executor_;
  std::optional<TimelineRecorder> recorder_;
  std::optional<SimulatedLinks> links_;
  std::deque<Assembly> assemblies_;  ///< of calls without a draft
  std::vector<BuiltCall> calls_;     ///< collectives, in the order of their workers
  std::deque<P2pTraffic> traffics_;
  std::deque<P2pSchedule> exchanges_;
  JoinedExchange schedules_;
  std::uint32_t exchange_threads_ = 0;
  std::optional<Exchange<Stamp>> exchange_;
  std::optional<ExchangeRecorder> exchange_recorder_;
  std::vector<std::vector<Built>> kernels_;  ///< by stream
};

extern template class StreamMachine<PlainStamp>;
extern template class StreamMachine<CausalStamp>;

}  // namespace fabricast
