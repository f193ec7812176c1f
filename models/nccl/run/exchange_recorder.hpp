#pragma once
// Looks on as a group of sends and receives runs, and writes its timeline.

#include <array>
#include <vector>

#include "models/nccl/run/timeline_draft.hpp"
#include "models/nccl/schedules/joined_exchange.hpp"
#include "sim/machines/exchange_observer.hpp"

namespace fabricast {

class ExchangeRecorder final : public ExchangeObserver {
 public:
  /// `labels`: by part of the exchange. All arguments outlive the recorder.
  ExchangeRecorder(const JoinedExchange& exchange, const std::vector<CallLabel>& labels,
                   const JobRanks& ranks, TimelineDraft& draft);

  void opens(std::uint32_t message, std::uint32_t block, std::uint32_t peer, bool sending,
             std::uint32_t lane, Instant at) override;
  void handles(std::uint32_t message, bool sending, Instant start, Instant end,
               Bytes payload) override;
  void copies(std::uint32_t block, std::uint32_t lane, Instant start, Instant end,
              Bytes bytes) override;
  void posts(std::uint32_t message, std::uint32_t thread, bool sending, Instant start, Instant end,
             Bytes payload) override;
  void departs(std::uint32_t message, Instant unhindered) override;
  void arrives(std::uint32_t message, Instant at) override;

 private:
  static constexpr std::uint32_t kHidden = UINT32_MAX;
  static constexpr std::size_t kLanes = 8, kSlots = 8;
  enum Part : std::size_t { kSend = 0, kReceive = kLanes, kCopy = 2 * kLanes, kParts };

  /// One end of a message: what its lane has done so far.
  struct End {
    std::uint32_t track = kHidden;
    std::uint32_t chunk = 0;
    std::uint32_t call = 0;
    std::int32_t peer_rank = -1;
    Instant free;
  };
  struct Arrival {
    Instant unhindered, at;
  };
  struct Message {
    End sender, receiver;
    std::uint32_t ends = 0;  ///< that have opened
    std::uint32_t departed = 0, arrived = 0;
    std::array<Arrival, kSlots> chunks;  ///< by number
  };

  using Lanes = std::array<std::uint32_t, kParts>;  ///< tracks

  void add_tracks(std::uint32_t block, const Lanes& used);
  void show_links(std::uint32_t block, const ExchangeBatch& batch);
  /// Whose block or thread it is; of a thread that serves a rank the channel is kWholeRank.
  struct Owner {
    int rank = 0, channel = 0;
    CallLabel label;
  };
  Owner owner_of_block(std::uint32_t block) const;
  Owner owner_of_thread(std::uint32_t thread) const;
  int rank_of(std::uint32_t block) const { return owner_of_block(block).rank; }
  std::uint32_t proxy_track(std::uint32_t thread);

  const JoinedExchange& exchange_;
  const std::vector<CallLabel>& labels_;
  const JobRanks& ranks_;
  TimelineDraft& draft_;
  std::vector<Lanes> lanes_;  ///< by block
  std::vector<std::uint32_t> proxy_tracks_;
  std::vector<Message> messages_;
};

}  // namespace fabricast
