#pragma once
// How the network is simulated: the rung, the routing, and what else is under way on it.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "sim/links/outage.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class Rung : std::uint8_t {
  chunk,  ///< slices through links that serve in order of arrival
  flow,   ///< fluids that share the fabric's links max-min fairly; nodes inside stay on `chunk`
  packet  ///< packets through the fabric, port to port; nodes inside stay on `chunk`
};

inline constexpr auto kRungWords = enum_words<Rung>("chunk", "flow", "packet");
inline constexpr auto kRoutingWords = enum_words<Routing>("static", "ecmp", "adaptive", "spray");
constexpr std::string_view to_text(Rung rung) { return kRungWords[rung]; }
constexpr std::string_view to_text(Routing routing) { return kRoutingWords[routing]; }

/// Who says over which links the slices of a connection go between nodes.
enum class FarWays : std::uint8_t {
  by_destination,  ///< the NICs: links of the machine, pools of cables among them
  hashed,          ///< its hash, before its first byte: links of the machine as well
  carried          ///< a carrier: switches choose as slices come, or the rung has no such links
};

/// Others' bytes on a link of the fabric for as long as the run takes.
struct BackgroundLoad {
  LinkId link{};
  double share = 0;  ///< of the link's rate that they would take, 0..1
  std::uint8_t priority = 0;
};

struct NetworkPlan {
  Rung rung = Rung::chunk;
  Routing routing = Routing::by_destination;
  bool pooled = false;        ///< adaptive, over the cluster's pools of cables
  int queue_pairs = 1;        ///< of a connection
  bool split = false;         ///< every slice goes over all of them; else they take turns
  std::uint8_t priority = 0;  ///< of the job's own bytes; the highest first
  std::vector<BackgroundLoad> background;
  Retry retry;  ///< packet
  EcmpSeeds seeds;
  bool hands_over = false;  ///< hashed ways, too, go to the carrier, so that tests compare both

  FarWays far_ways() const {
    if (rung != Rung::chunk) return FarWays::carried;
    if (routing == Routing::by_destination || pooled) return FarWays::by_destination;
    const bool is_one_way = routing == Routing::ecmp && queue_pairs == 1 && background.empty();
    return is_one_way && !hands_over ? FarWays::hashed : FarWays::carried;
  }
  /// Do slices leave the executor?
  bool carries() const { return far_ways() == FarWays::carried; }
  /// Of ways that are hashed.
  std::optional<EcmpSeeds> hashes() const {
    return far_ways() == FarWays::hashed ? std::optional(seeds) : std::nullopt;
  }
};

}  // namespace fabricast
