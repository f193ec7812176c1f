#include "models/nccl/symmetry/carried_folds.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "models/nccl/symmetry/run_hops.hpp"

namespace fabricast {
namespace {

/// Of every port of a switch that sends, the ports that what it sends came from.
class Turns {
 public:
  explicit Turns(const Cluster& cluster) : cluster_(cluster) {}

  void add(const std::vector<LinkId>& way) {
    for (std::size_t i = 1; i < way.size(); ++i)
      if (cluster_.is_fabric_link(way[i - 1]) && cluster_.is_fabric_link(way[i]))
        from_[index_of(way[i])].insert(index_of(way[i - 1]));
  }

  /// Whether the ports stay as many where `symmetry` puts one for several.
  bool stay(const Symmetry& symmetry) const {
    return std::ranges::all_of(from_, [&](const auto& turn) {
      std::set<std::uint32_t> alike;
      for (const std::uint32_t link : turn.second)
        alike.insert(index_of(symmetry.representative(cluster_, LinkId{link})));
      return alike.size() == turn.second.size();
    });
  }

 private:
  const Cluster& cluster_;
  std::map<std::uint32_t, std::set<std::uint32_t>> from_;  ///< by link
};

/// Of an algorithm: every hop.
void add_hops(Turns& turns, const Members& members, const RunHops& hops, int channels) {
  for (int rank = 0; rank < members.ranks(); ++rank)
    for (int channel = 0; channel < channels; ++channel)
      for (const RunHops::Hop& hop : hops.leaving(channel, rank)) turns.add(hops.way(hop).network);
}

/// Of sends and receives: the NICs by which one node reaches the next are those by which any
/// reaches any.
void add_messages(Turns& turns, const Cluster& cluster, const Members& members, const RunHops& hops,
                  int channels) {
  std::set<std::pair<int, int>> nics;
  for (int rank = 0; rank < members.gpus_per_node(); ++rank)
    for (int channel = 0; channel < channels; ++channel)
      for (const RunHops::Hop& hop : hops.leaving(channel, rank))
        nics.emplace(hop.near.nic, hop.far.nic);
  const auto vertex = [&](int nic) {
    return cluster.node().nics()[static_cast<std::size_t>(nic)].vertex;
  };
  for (const int from : members.nodes())
    for (const int to : members.nodes())
      for (const auto& [near, far] : nics)
        if (from != to) turns.add(cluster.fabric_route(from, vertex(near), to, vertex(far)));
}

bool keep_their_turns(const Cluster& cluster, const CollectiveRun& run, const Symmetry& symmetry) {
  const Members members = members_of(run, cluster.nodes());
  const RunHops hops(cluster, run, members);
  Turns turns(cluster);
  if (run.has_algorithm()) {
    add_hops(turns, members, hops, run.channels);
    return turns.stay(symmetry);
  }
  // Of three nodes that do the same two always send to the third one.
  const bool meets = std::ranges::any_of(
      symmetry.moves, [](const Move& move) { return move.period > 0 && move.copies > 2; });
  if (meets || cluster.node().trays() > 1) return false;
  add_messages(turns, cluster, members, hops, run.channels);
  return turns.stay(symmetry);
}

}  // namespace

std::string_view against_carried_fold(const Cluster& cluster, const NetworkPlan& plan,
                                      const CollectiveRun& run, const Symmetry& symmetry) {
  if (symmetry.copies() == 1) return "";
  if (plan.rung == Rung::chunk || plan.routing != Routing::by_destination)
    return "switches choose ways by lot or by load";
  if (!plan.background.empty()) return "others' bytes are on some links";
  const bool is_known = !run.has_algorithm() || run.algorithm == Algorithm::ring ||
                        run.algorithm == Algorithm::tree || run.algorithm == Algorithm::pat;
  if (run.custom != nullptr || !is_known) return "on this network every rank is simulated";
  if (plan.rung == Rung::flow) return "";
  if (cluster.fabric().leaf.ethernet)
    return "ports of a switch share its buffer, and marks fall by lot";
  if (!keep_their_turns(cluster, run, symmetry))
    return "packets of nodes that are alike take turns at a switch";
  // A mirror turns the order of a switch's ports round, and where packets come in one instant the
  // port of the lower number goes first. Those of LL128's trees do.
  const bool mirrors = std::ranges::any_of(symmetry.moves, &Move::reverses);
  return mirrors && run.protocol == Protocol::ll128
             ? "packets of both halves come to switches in one instant"
             : "";
}

}  // namespace fabricast
