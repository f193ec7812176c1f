#pragma once
// What every block of a group of sends and receives does, and when: batches of at most eight rounds
// on each channel of each rank (src/enqueue.cc, src/device/sendrecv.h). Block = rank * channels +
// channel; the exchange knows it by another number if there are blocks like it (ExchangePlaces).

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "models/nccl/base/members.hpp"
#include "models/nccl/environment/faults.hpp"
#include "models/nccl/schedules/p2p_ways.hpp"
#include "models/nccl/sendrecv/p2p_plan.hpp"
#include "models/nccl/sendrecv/p2p_rounds.hpp"
#include "models/nccl/sendrecv/p2p_traffic.hpp"
#include "models/nccl/symmetry/exchange_places.hpp"
#include "models/nccl/symmetry/job_plan.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

class P2pSchedule final : public ExchangeSchedule {
 public:
  struct Config {
    const Cluster& cluster;
    const SoftwareCosts& software;
    const Members& members;
    const P2pPlan& plan;
    const P2pTraffic& traffic;
    const TransportRules& transport;
    bool in_place = false;               ///< what a rank keeps need not be copied
    const Symmetry* symmetry = nullptr;  ///< which ranks are alike; null: none
    SimulatedLinks* links = nullptr;     ///< where of these only the first are simulated
    std::span<const Faults::SlowGpu> slow = {};
    std::optional<FabricRoutes> routes = std::nullopt;  ///< between nodes; none: by destination
    int calls = 1;  ///< equal ones in one group: their messages wait for each other in the rounds
  };

  explicit P2pSchedule(const Config& config);

  std::uint32_t blocks() const { return places_.blocks(); }
  std::uint32_t threads() const;
  const ExchangePlaces& places() const { return places_; }
  int channels() const { return config_.plan.rules.channels.channels; }
  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override;
  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override;
  std::uint64_t each_way(std::uint32_t blocks, const WayVisitor& visit) const override;
  /// In each round a rank sends to another one, of which a block may stand for several.
  std::uint32_t connection(std::uint32_t /*from*/, std::uint32_t tag) const override {
    return tag % static_cast<std::uint32_t>(rounds_.count());
  }

  /// Of all messages that its blocks send.
  std::uint64_t chunks() const;

  /// The kinds of messages, in the order of their numbers.
  std::vector<MessageKind> kinds() const;

 private:
  std::optional<P2pPart> cut(Bytes message, int part, bool over_net) const;
  int part_for(int round, int from, int to, int channel) const;
  void way_between(int rank, int to, int channel, Protocol protocol, ExchangeWay& way) const;
  bool add_round(int rank, int channel, int round, int call, ExchangeBatch& batch) const;
  std::optional<ExchangeLane> lane(int from, int to, int channel, int round) const;
  std::vector<int> simulated_ranks() const;
  void find_busy_rounds();
  std::uint32_t next_busy(const std::vector<int>& rounds, int rank, std::uint32_t cursor) const;
  template <class Visit>
  void each_message(const Visit& visit) const;
  struct LinksOfKind;
  std::vector<LinksOfKind> links_of_kinds() const;
  std::uint64_t chunks_of(Bytes message, bool over_net) const;
  int round_of(const ExchangeLane& lane) const {
    return static_cast<int>(lane.tag) % rounds_.count();
  }
  const ProtocolCosts& costs(Protocol protocol) const { return costs_[index_of(protocol)]; }
  Duration overhead(std::uint32_t kind) const;
  int messages_inside() const;
  void share_block(int rank, int rounds, ExchangeBatch& batch) const;
  void share_slots(std::vector<ExchangeLane>& lanes) const;
  void join_receives(int rank, int channel, std::vector<ExchangeLane>& lanes) const;
  int gpus() const { return config_.members.gpus_per_node(); }
  bool is_remote(int a, int b) const { return a / gpus() != b / gpus(); }
  /// What NCCL cuts a message by: two GPUs of a node may have no other way either.
  bool goes_over_net(int a, int b) const {
    return a != b && (is_remote(a, b) || ways_.hop(a, b) == HopKind::net);
  }

  Config config_;
  std::array<ProtocolCosts, kProtocols> costs_;  ///< on the nodes' GPUs
  P2pRounds rounds_;
  P2pWays ways_;
  ExchangePlaces places_;
  /// Which part of a message a channel has, at [what its rounds' base leaves of the channels *
  /// channels + channel].
  std::vector<int> part_of_channel_;
  std::vector<std::vector<int>> rounds_of_channel_;  ///< that may have work there
  /// By rank, the rounds in which it has messages, where these are few; none = any may have some.
  std::vector<std::vector<int>> busy_rounds_;
  /// Parts of messages of the usual size, without and over the network.
  std::array<std::vector<P2pPart>, 2> usual_;
};

/// Of a work that has no algorithm. `traffics` keeps the traffic of a run that names none, which is
/// that of its collective; it outlives the schedule, as the links do.
P2pSchedule::Config exchange_of(const QueuedWork& work, const Members& members,
                                const Cluster& cluster, const SoftwareCosts& software,
                                SimulatedLinks& links, std::deque<P2pTraffic>& traffics,
                                const FabricRoutes& routes);

}  // namespace fabricast
