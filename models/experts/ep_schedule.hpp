#pragma once
// What thread blocks do in dispatch and combine, as batches of an exchange. Two shapes:
//
// Direct: every rank sends to every rank of its tokens, itself included. Normal kernels on one
// node, low-latency kernels, kernels of an NVLink domain.
//
// Two stages: normal kernels on several nodes. A token goes once to the equal-numbered GPU of each
// node that has experts of it, which forwards it over NVLink to the ranks there. Half of the SMs
// send to other nodes and receive over NVLink, half forward; combine goes the same ways backwards,
// and who forwards adds up. Tokens move in groups, so that the stages overlap.
//
// Groups and chunks of a pair of ranks move, no single tokens. visit() says which of them are in
// each piece.

#include <cstdint>
#include <functional>
#include <vector>

#include "models/experts/ep_ways.hpp"
#include "models/experts/expert_call.hpp"
#include "models/experts/routing.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

/// A piece of what one rank sends another. Pieces of a message come in order.
struct EpPiece {
  int origin = 0;  ///< rank whose tokens they are
  int from = 0, to = 0;
  std::int64_t first = 0, tokens = 0;  ///< of those that go this way, in the order of the origin
  bool forwarded = false;              ///< the stage inside the node of a two-stage schedule
};

/// Rates of lanes, of payload; 0 = takes no time.
struct EpRates {
  Bandwidth send, receive;  ///< of a lane of a direct schedule, or of the first stage
  Bandwidth forward;        ///< two stages: of a lane of who forwards
  Bandwidth local;          ///< and of a lane at the far end of the second stage
};

class EpSchedule : public ExchangeSchedule {
 public:
  virtual std::uint32_t blocks() const = 0;
  /// Of all that is sent in this phase, in the order of the blocks.
  virtual void visit(const std::function<void(const EpPiece&)>& visitor) const = 0;
};

class DirectSchedule final : public EpSchedule {
 public:
  struct Config {
    const EpWays& ways;
    const TokenCounts& counts;
    EpPhase phase{};
    bool by_expert = false;  ///< a copy for every expert, else one for every rank
    std::int64_t token_bytes = 0;
    std::int64_t chunk_tokens = 0;  ///< 0 = a message is one chunk
    EpRates rates;
    std::uint32_t first_pool = 0;  ///< links that what a rank sends crosses first, one a rank
    bool has_pools = false;
  };
  explicit DirectSchedule(const Config& config);

  std::uint32_t blocks() const override;
  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override;
  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override;
  void visit(const std::function<void(const EpPiece&)>& visitor) const override;

 private:
  std::int64_t tokens(int from, int to) const;
  std::uint32_t block(int rank, bool sends, int part) const;

  Config config_;
  int ranks_, parts_;
};

class TwoStageSchedule final : public EpSchedule {
 public:
  struct Config {
    const EpWays& ways;
    const TokenCounts& counts;
    EpPhase phase{};
    std::int64_t token_bytes = 0;
    int groups = 1;  ///< in which a message moves
    EpRates rates;
  };
  /// REQUIRES: several nodes.
  explicit TwoStageSchedule(const Config& config);

  std::uint32_t blocks() const override;
  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override;
  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override;
  void visit(const std::function<void(const EpPiece&)>& visitor) const override;

 private:
  /// `outer` faces other nodes, `middle` forwards what rank `origin` has here, `inner` has experts.
  enum class Role : std::uint8_t { outer, middle, inner };
  struct At {
    int rank = 0;
    Role role{};
    int index = 0;  ///< outer: which nodes; else the node of the origin
    int part = 0;   ///< inner: which GPUs forward to it
  };
  At at(std::uint32_t block) const;
  std::uint32_t block(int rank, Role role, int index, int part = 0) const;
  void add_outer(const At& at, int group, std::vector<ExchangeLane>& lanes) const;
  void add_to_outer(const At& at, int group, std::vector<ExchangeLane>& lanes) const;
  void add_inner(const At& at, int group, std::vector<ExchangeLane>& lanes) const;
  void add_to_inner(const At& at, int group, int part, std::vector<ExchangeLane>& lanes) const;
  void next_of_middle(const At& at, int cursor, ExchangeBatch& batch) const;
  ExchangeLane lane(std::uint32_t peer, std::int64_t tokens, int group, Bandwidth rate) const;

  Config config_;
  int nodes_, gpus_, parts_;
  int fans_;  ///< of so many GPUs each those of a node are served, one after another
};

/// GPUs of a node that a block forwards to at a time.
int forwarded_at_once(int gpus);

/// Ranks of a node that normal kernels forward to (DeepEP V1, csrc/kernels/configs.cuh,
/// NUM_MAX_NVL_PEERS).
inline constexpr int kForwardedGpus = 8;

/// The part of `all` tokens that group `i` of `groups` has begins here.
constexpr std::int64_t group_begin(std::int64_t all, int i, int groups) { return all * i / groups; }

}  // namespace fabricast
