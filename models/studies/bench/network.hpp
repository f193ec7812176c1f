#pragma once
// The network of a bench as users ask for it: rung, routes, background traffic.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/network_plan.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// "uplinks 40%", "leaf0.0 -> spine3 40% sl 1": traffic of other jobs on these links.
struct BackgroundSpec {
  std::string text;               ///< as written
  std::string links;              ///< uplinks, downlinks, trunks, or a name with `*`
  double share = 0;               ///< of a link's rate, 0..1
  bool by_traffic_class = false;  ///< "tc N", else "sl N"
  std::optional<int> number;      ///< of its service level or traffic class; none = 0
};

/// Throws Error; names are not looked up yet.
BackgroundSpec parse_background(std::string_view text);

struct NetworkConfig {
  Rung rung = Rung::chunk;
  std::optional<Routing> routing;  ///< none = the fabric's
  std::vector<BackgroundSpec> background;
  std::uint64_t seed = 1;  ///< of ECMP hashes and packet spraying

  /// Slices stay with the executor, whatever the cluster.
  bool is_plain() const {
    const bool booked = routing.value_or(Routing::adaptive) == Routing::adaptive ||
                        routing == Routing::by_destination;
    return rung == Rung::chunk && booked && background.empty();
  }
};

/// What it comes to on a cluster of this routing (TopologyRequest::routing), with NCCL's queue
/// pairs and classes. Throws Error.
NetworkPlan plan_network(const NetworkConfig& config, const Cluster& cluster,
                         const Environment& environment, NcclVersion version,
                         std::vector<std::string>& notes);

/// "flow, adaptive routing"; "" where nothing leaves the chunk rung.
std::string network_text(const NetworkPlan& plan, const Cluster& cluster);

/// Of what books links only, as groups side by side and steps do: that the fabric routes otherwise,
/// "" = it does not.
std::string static_instead(const Cluster& cluster);

/// Slices of a run that another rung than chunk is asked for: what has more is refused unseen.
inline constexpr std::uint64_t kSlicesMax = 100'000'000;
/// Packets of the packet rung, each counted on every link that passes it on, of a run by what it
/// did on the chunk rung.
std::uint64_t packets_passed_on(const Cluster& cluster, const RunFacts& on_chunk);
/// By what the same run did on the chunk rung. Throws Error when it is too much for the rung.
void check_size(Rung rung, const Cluster& cluster, const RunFacts& on_chunk, int copies);

}  // namespace fabricast
