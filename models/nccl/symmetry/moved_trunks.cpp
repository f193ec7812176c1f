#include "models/nccl/symmetry/moved_trunks.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "models/nccl/symmetry/move_check.hpp"
#include "models/nccl/symmetry/run_hops.hpp"

namespace fabricast {
namespace {

using Trunks = std::map<std::uint32_t, std::uint32_t>;

/// From the NIC of one place of nodes to that of another.
struct Way {
  int from = 0, to = 0, near = 0, far = 0;

  auto operator<=>(const Way&) const = default;
};

/// Of all hops between nodes. Sends and receives come over the same spine from all others.
std::set<Way> ways_between(const Cluster& cluster, const CollectiveRun& run,
                           const Members& members) {
  const RunHops hops(cluster, run, members);
  const int gpus = members.gpus_per_node();
  std::set<Way> out;
  for (int rank = 0; rank < members.ranks(); ++rank)
    for (int channel = 0; channel < run.channels; ++channel)
      for (const RunHops::Hop& hop : hops.leaving(channel, rank))
        out.insert({rank / gpus, hop.to / gpus, hop.near.nic, hop.far.nic});
  return out;
}

class Finder {
 public:
  Finder(const Cluster& cluster, const Members& members, const Move& move)
      : cluster_(cluster), members_(members), move_(move) {}

  /// Whether the way goes to that of both nodes' images.
  bool takes(const Way& way) {
    const auto image = [this](int place) { return (place + move_.period) % move_.nodes; };
    const std::vector<LinkId> a = route(way),
                              b = route({image(way.from), image(way.to), way.near, way.far});
    return std::ranges::equal(a, b, [this](LinkId x, LinkId y) { return takes(x, y); });
  }

  /// Nothing unless each is where it was after as many moves as nodes are, and not before.
  Trunks simulated() const {
    Trunks out;
    for (const auto& [first, second] : next_) {
      int moves = 1;
      std::uint32_t least = first;
      for (std::uint32_t at = second; at != first; at = next_.at(at), ++moves) {
        if (!next_.contains(at)) return {};
        least = std::min(least, at);
      }
      if (moves != move_.copies) return {};
      out[first] = least;
    }
    return out;
  }

 private:
  std::vector<LinkId> route(const Way& way) const {
    const auto node = [this](int place) {
      return members_.nodes()[static_cast<std::size_t>(place)];
    };
    return fabric_way(cluster_, {node(way.from), 0, way.near}, {node(way.to), 0, way.far});
  }

  bool takes(LinkId from, LinkId to) {
    if (cluster_.is_trunk(from) != cluster_.is_trunk(to)) return false;
    if (!cluster_.is_trunk(from)) return true;
    const ClusterLink a = cluster_.link(from), b = cluster_.link(to);
    return a.rate == b.rate && a.latency == b.latency &&
           put(next_, back_, index_of(from), index_of(to));
  }

  const Cluster& cluster_;
  const Members& members_;
  const Move& move_;
  Trunks next_, back_;
};

}  // namespace

std::map<std::uint32_t, std::uint32_t> moved_trunks(const Cluster& cluster,
                                                    const CollectiveRun& run,
                                                    const Members& members, const Move& move) {
  Finder finder(cluster, members, move);
  for (const Way& way : ways_between(cluster, run, members))
    if (!finder.takes(way)) return {};
  return finder.simulated();
}

}  // namespace fabricast
