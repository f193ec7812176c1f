#pragma once
// Stands between a schedule and the machine it is built on, and looks on as it runs.

#include <vector>

#include "models/nccl/run/timeline_draft.hpp"
#include "sim/links/machine.hpp"
#include "sim/machines/observer.hpp"

namespace fabricast {

class TimelineRecorder final : public Machine, public Observer {
 public:
  /// The machine and the draft outlive the recorder.
  TimelineRecorder(Machine& machine, TimelineDraft& draft) : machine_(machine), draft_(draft) {}

  /// Threads from this number on are proxies of these ranks; others help a channel.
  void show_threads(std::uint32_t first, const std::vector<int>& ranks);
  /// After building, before the run: the workers of each rank are these, on these channels (by
  /// lane). Proxies and links follow from them. What belongs to no rank is not shown.
  void show(int rank, const std::vector<std::uint32_t>& workers, const std::vector<int>& channels,
            const CallLabel& label = {});

  std::uint32_t add_link(LinkSpec spec) override { return machine_.add_link(spec); }
  std::uint32_t add_thread() override { return machine_.add_thread(); }
  void set_multimem(MultimemWire wire) override { machine_.set_multimem(wire); }
  std::uint32_t add_worker_class(const WorkerClass& worker_class) override;
  std::uint32_t add_relay_class(const RelayClass& relay_class) override;
  void start_call() override { machine_.start_call(); }
  std::uint32_t add_worker(std::uint32_t worker_class, const Program& program, Role role) override;
  std::uint32_t add_relay(std::uint32_t relay_class, std::uint32_t thread,
                          std::uint32_t copies) override;
  void connect(const ConnectionSpec& spec) override;
  std::uint32_t workers() const override { return machine_.workers(); }

  void takes_up(std::uint32_t worker, Cursor cursor) override;
  void handles(const ObservedSlice& slice) override;
  void relays(std::uint32_t id, std::uint32_t thread, Instant start, Instant end,
              Bytes payload) override;
  void departs(std::uint32_t connection, std::uint32_t slot, Instant unhindered) override;
  void arrives(std::uint32_t connection, std::uint32_t slot, Instant at) override;

 private:
  static constexpr std::uint32_t kHidden = UINT32_MAX;
  static constexpr int kNoRank = -1;

  struct Actor {                       ///< a worker or relay
    const Program* program = nullptr;  ///< null: a relay
    Role role;
    std::uint32_t track = kHidden;
    std::int32_t rank = -1;                   ///< worker; a relay: of who gets what it sends
    std::int32_t owner = -1;                  ///< a relay: the rank whose proxy it is
    int channel = TimelineTrack::kWholeRank;  ///< worker; a relay with a thread of its own
    CallLabel label;
    Cursor cursor;  ///< of the current primitive
    std::uint32_t slice = 0;
  };
  struct Way {  ///< of a connection
    std::uint32_t from = 0, to = 0;
    std::vector<std::uint32_t> path;
  };
  struct Arrival {
    Instant unhindered, at;
  };

  void show_ways();
  std::uint32_t proxy_track(const Actor& relay);
  void add_wait(const ObservedSlice& slice);
  Arrival& arrival(std::uint32_t connection, std::uint32_t slot);

  Machine& machine_;
  TimelineDraft& draft_;
  std::vector<Actor> actors_;
  std::vector<Way> ways_;
  std::vector<int> owners_;                     ///< by thread; kNoRank: it helps
  std::vector<std::uint32_t> proxy_tracks_;     ///< by thread: one a rank, then those that help
  std::vector<std::vector<Arrival>> arrivals_;  ///< by the executor's connection, slot
  bool ready_ = false;
};

}  // namespace fabricast
