#pragma once
// What a packet network is made of. Defaults are those of docs/fabrics.md; each names its source
// there.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/packet/dcqcn.hpp"

namespace fabricast {

/// What keeps a receiver's buffer from overflowing.
enum class FlowControl : std::uint8_t {
  credits,  ///< InfiniBand: per link and lane, the receiver grants what it has room for
  pause,    ///< Ethernet PFC: a switch pauses a lane of a link when its ingress holds too much
  drop,     ///< nothing: a full switch drops
};

/// Whom an egress port serves in turn.
enum class Arbitration : std::uint8_t {
  per_ingress,  ///< every ingress port gets an equal share; flows of one lane share queues
  per_flow,     ///< every flow has queues, buffer and back-pressure of its own
};

/// How a switch picks among ways of equal length.
enum class Spread : std::uint8_t {
  ecmp,      ///< by hash: a queue pair keeps its way
  adaptive,  ///< per packet, the shortest queue; within one packet of it by lot
  spray,     ///< per packet, by lot
};

/// RED marking by the length of an egress queue of one lane. to = 0: no marks.
struct MarkingSpec {
  Bytes from, to;  ///< marks begin; at `to` the probability is `most`, above it 1
  double most = 0.2;
};

struct PauseSpec {
  Bytes shared_buffer{32'000'000};  ///< of a switch
  Bytes ingress_limit;              ///< pauses above; 0 = dynamic: free buffer >> alpha_shift
  unsigned alpha_shift = 3;
  Bytes reserved{4'000};      ///< of each ingress queue, before it uses the shared buffer
  Bytes resume_below{3'000};  ///< resumes so far below the limit
  Duration response;          ///< of the paused sender, beyond the wire
};

struct PacketConfig {
  Bytes payload{4'096}, headers{26};  ///< of a full packet; headers are on the wire only
  FlowControl flow_control = FlowControl::credits;
  Arbitration arbitration = Arbitration::per_ingress;
  Spread spread = Spread::ecmp;
  /// Virtual lanes or traffic classes. Higher priority first; equals share by weight.
  struct Lane {
    std::uint32_t weight = 1;
    std::uint8_t priority = 0;
  };
  std::vector<Lane> lanes = {{}};
  Bytes lane_buffer{65'536};               ///< credits: of each lane of a link's receiver
  Duration turnaround = nanoseconds(300);  ///< credits: from buffer freed to credit sent
  PauseSpec pause;
  MarkingSpec marking;
  std::uint64_t seed = 1;  ///< of losses, marks and lots
};

/// One direction of a cable.
struct PacketLinkSpec {
  std::uint32_t from = 0, to = 0;  ///< vertices
  Bandwidth rate;
  Duration latency;      ///< of the vertex it leaves: switch port to port, or sending NIC
  Duration propagation;  ///< of the cable
};

/// Time and tries of a reliable connection.
struct RetrySpec {
  Duration timeout;  ///< without an acknowledgement; 0 = none: losses are for ever
  int retries = 7;   ///< after time-outs and refusals without progress in between
  /// After a refusal it waits by lot up to so long: senders in step would lose to each other in
  /// the same order for ever.
  Duration hesitation;
  /// InfiniBand: 4.096 us x 2^exponent, exponent 1 .. 31.
  static constexpr Duration infiniband(int exponent) { return Duration{4'096'000LL << exponent}; }
};

struct QueuePairSpec {
  std::uint32_t from = 0, to = 0;  ///< hosts
  std::uint32_t number = 0;        ///< what ECMP hashes beside the hosts
  std::uint32_t lane = 0;
  std::span<const std::uint32_t> links;  ///< a fixed way, copied; empty = the switches choose
  Bytes window;                          ///< wire bytes unacknowledged at most; 0 = no limit
  RetrySpec retry;
  bool in_order = true;  ///< the receiver refuses what overtook; false with spraying
  std::optional<DcqcnSpec> dcqcn;
};

}  // namespace fabricast
