#include "models/nccl/symmetry/network_folds.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
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
  for (const int from : members.nodes())
    for (const int to : members.nodes())
      for (const auto& [near, far] : nics)
        if (from != to) turns.add(fabric_way(cluster, {from, 0, near}, {to, 0, far}));
}

/// Of the moves by which a run may be folded so many stand on the network, the first ones: those
/// behind were found beside them.
struct Standing {
  std::size_t moves = 0;
  std::string_view why_not;  ///< "" = all stand
  bool parts_lanes = false;  ///< channels that take the same ways by destination do not
};

/// Whether anything crosses a link between switches: there is a way to choose.
bool crosses_trunks(const Cluster& cluster, const CollectiveRun& run) {
  if (run.custom != nullptr || !run.transport.network.fused.empty()) return true;
  const Members members = members_of(run, cluster.nodes());
  const RunHops hops(cluster, run, members);
  const auto has_trunk = [&](const RunHops::Hop& hop) {
    return std::ranges::any_of(fabric_way(cluster, hop.near, hop.far),
                               [&](LinkId link) { return cluster.is_trunk(link); });
  };
  for (int rank = 0; rank < members.ranks(); ++rank)
    for (int channel = 0; channel < run.channels; ++channel)
      if (std::ranges::any_of(hops.leaving(channel, rank), has_trunk)) return true;
  return false;
}

/// What stands against every move; "" = nothing.
std::string_view against_all(const Cluster& cluster, const NetworkPlan& network,
                             const CollectiveRun& run) {
  if (network.rung == Rung::chunk || network.routing != Routing::by_destination)
    return "switches choose ways by lot or by load";
  if (!network.background.empty()) return "others' bytes are on some links";
  const bool is_known = !run.has_algorithm() || run.algorithm == Algorithm::ring ||
                        run.algorithm == Algorithm::tree || run.algorithm == Algorithm::pat;
  if (run.custom != nullptr || !is_known) return "on this network every rank is simulated";
  return network.rung == Rung::packet && cluster.fabric().leaf.is_ethernet()
             ? "ports of a switch share its buffer, and marks fall by lot"
             : "";
}

/// Of packets.
class PacketFold {
 public:
  PacketFold(const Cluster& cluster, const CollectiveRun& run)
      : run_(run), turns_(cluster), is_told_(run.has_algorithm() || cluster.node().trays() == 1) {
    const Members members = members_of(run, cluster.nodes());
    const RunHops hops(cluster, run, members);
    if (run.has_algorithm()) {
      add_hops(turns_, members, hops, run.channels);
    } else if (is_told_) {
      add_messages(turns_, cluster, members, hops, run.channels);
    }
  }

  /// What stands against the last move, beside the others; "" = nothing.
  std::string_view against_last(const Symmetry& symmetry) const {
    const Move& last = symmetry.moves.back();
    // Of three nodes that do the same two always send to the third one.
    const bool meets = !run_.has_algorithm() && last.period > 0 && last.copies > 2;
    if (meets || !is_told_ || !turns_.stay(symmetry))
      return "packets of nodes that are alike take turns at a switch";
    // A mirror turns the order of a switch's ports round, and where packets come in one instant the
    // port of the lower number goes first. Those of LL128's trees do.
    return last.reverses && run_.protocol == Protocol::ll128
               ? "packets of both halves come to switches in one instant"
               : "";
  }

 private:
  const CollectiveRun& run_;
  Turns turns_;
  bool is_told_;  ///< whether the ways of messages follow from those between two nodes
};

Standing standing_on(const Cluster& cluster, const NetworkPlan& network, const CollectiveRun& run,
                     const Symmetry& symmetry) {
  const std::size_t all = symmetry.moves.size();
  if (network.far_ways() == FarWays::hashed && crosses_trunks(cluster, run))
    return {0, all > 0 ? "what is alike hashes to different ways" : "", true};
  if (all == 0 || !network.carries()) return {all, ""};
  if (const std::string_view why_not = against_all(cluster, network, run); !why_not.empty())
    return {0, why_not};
  if (network.rung == Rung::flow) return {all, ""};
  const PacketFold packets(cluster, run);
  Symmetry kept = symmetry;
  kept.moves.clear();
  for (std::size_t i = 0; i < all; ++i) {
    kept.moves.push_back(symmetry.moves[i]);
    if (const std::string_view why_not = packets.against_last(kept); !why_not.empty())
      return {i, why_not};
  }
  return {all, ""};
}

void keep(Symmetry& symmetry, const Standing& standing) {
  if (standing.parts_lanes) symmetry.lanes = all_lanes(symmetry.lanes.like.size());
  if (standing.why_not.empty()) return;
  symmetry.moves.resize(standing.moves);
  symmetry.why_not = standing.why_not;
}

}  // namespace

Symmetry standing_symmetry(const Cluster& cluster, const NetworkPlan& network,
                           const CollectiveRun& run, Symmetry symmetry) {
  keep(symmetry, standing_on(cluster, network, run, symmetry));
  return symmetry;
}

JobPlan standing_plan(const Cluster& cluster, const NetworkPlan& network,
                      std::span<const Stream> streams, JobPlan plan) {
  if (network.far_ways() == FarWays::by_destination) return plan;
  const auto each_work = [&](const auto& visit) {
    for (StreamPlan& stream : plan.streams)
      for (Kernel& kernel : stream.kernels)
        for (QueuedWork& work : kernel.works) visit(work);
  };
  Standing least;
  each_work([&](const QueuedWork& work) {
    const Standing own = standing_on(cluster, network, *work.run, work.symmetry);
    least.parts_lanes = least.parts_lanes || own.parts_lanes;
    if (own.why_not.empty() || (!least.why_not.empty() && own.moves >= least.moves)) return;
    least.moves = own.moves;
    least.why_not = own.why_not;
  });
  each_work([&](QueuedWork& work) { keep(work.symmetry, least); });
  if (!least.why_not.empty()) plan.why_not = least.why_not;
  keep_apart(streams, plan);
  return plan;
}

}  // namespace fabricast
