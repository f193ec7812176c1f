// Moves by whole nodes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "models/nccl/symmetry/move_check.hpp"
#include "models/nccl/symmetry/move_finders.hpp"
#include "models/nccl/symmetry/moved_trunks.hpp"
#include "models/nccl/symmetry/run_hops.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kCablesDiffer = "cables differ in length";
constexpr std::string_view kWaysDiffer = "";  ///< what a longer move makes good is no reason

bool has_sharp(const CollectiveRun& run) {
  return is_tuned(run.collective) &&
         (run.algorithm == Algorithm::nvls || run.algorithm == Algorithm::collnet_direct ||
          run.algorithm == Algorithm::collnet_chain);
}

class NodeShift {
 public:
  NodeShift(const Cluster& cluster, std::span<const MovedCall> calls)
      : cluster_(cluster),
        calls_(calls),
        members_(members_of(*calls.front().run, cluster.nodes())) {}

  FoundMove find() const {
    FoundMove none{unmoved(), ""};
    for (const MovedCall& call : calls_)
      if (none.why_not = against(call); !none.why_not.empty()) return none;
    // Several that share SHARP trees each have a tree of their own below it.
    const bool is_sharp =
        std::ranges::any_of(calls_, [](const MovedCall& call) { return has_sharp(*call.run); });
    if (is_sharp && calls_.size() == 1) return below_sharp();
    FoundMove found = shortest();
    if (is_sharp && found.move.copies > 1 && found.why_not.empty())
      return {unmoved(), "calls fold in different ways"};
    return found;
  }

 private:
  int nodes() const { return members_.node_count(); }
  int at(int place) const { return members_.nodes()[static_cast<std::size_t>(place)]; }
  /// The fabric knows hosts, of which NVLink may have joined several into a node: its first, and
  /// its last.
  int first_host(int place) const { return at(place) * cluster_.node().trays(); }
  int last_host(int place) const { return first_host(place) + cluster_.node().trays() - 1; }
  bool are_below_one(int hosts) const {
    return first_host(0) / hosts == last_host(nodes() - 1) / hosts;
  }
  int leaf(int place) const { return at(place) / cluster_.nodes_per_leaf(); }
  int pod(int place) const { return at(place) / cluster_.nodes_per_pod(); }
  bool has_pods() const { return cluster_.layout().switches(SwitchTier::core) > 0; }
  Move unmoved() const {
    Move out;
    out.nodes = nodes();
    out.gpus = members_.gpus_per_node();
    return out;
  }

  /// What makes ranks unlike, whatever the network.
  std::string against(const MovedCall& call) const {
    const CollectiveRun& run = *call.run;
    if (nodes() == 1) return "there is one node";
    if (!std::ranges::is_sorted(members_.nodes())) return "ranks are not in the order of nodes";
    if (cluster_.hosts() != cluster_.nodes() && has_sharp(run))
      return "nodes are NVLink domains of several hosts";
    if (!cluster_.offers_gdr_everywhere()) return odd_part(cluster_, run);
    const std::string unlike = unlike_ranks(call);
    const bool may_be_alike = unlike.empty() && run.faults.outages.empty() && !has_sharp(run);
    if (std::string odd = odd_part(cluster_, run); !odd.empty() && !may_be_alike) return odd;
    return unlike;
  }

  std::string unlike_ranks(const MovedCall& call) const {
    const CollectiveRun& run = *call.run;
    if (run.traffic != nullptr) return "messages differ in size";
    if (has_root(run.collective)) return "the root is unlike other ranks";
    if (!is_tuned(run.collective)) return "";
    switch (run.algorithm) {
      case Algorithm::pat:
        return "";
      case Algorithm::ring:
        return has_equal_chunks(call) ? "" : "the last chunks of ranks differ in size";
      case Algorithm::tree:
      case Algorithm::nvls_tree:
        return "nodes of a binary tree are unlike";
      case Algorithm::nvls:
      case Algorithm::collnet_direct:
      case Algorithm::collnet_chain:
        return run.collective == Collective::all_reduce ? "" : "each node has a share of its own";
    }
    return "";
  }

  bool has_equal_chunks(const MovedCall& call) const {
    const Collective collective = call.run->collective;
    if (collective != Collective::all_reduce) return true;
    const auto ranks = static_cast<std::uint32_t>(members_.ranks());
    return std::ranges::all_of(call.partition->parts, [&](const ChannelPart& part) {
      const std::int64_t loops = loop_count(part, Algorithm::ring, collective, ranks);
      const ChunkLoop last = chunk_loop(part, Algorithm::ring, collective, ranks, loops - 1);
      return last.left_elements == last.chunk_elements * ranks;
    });
  }

  /// One node for all: each gives to the tree and takes from it at the same time as the others.
  FoundMove below_sharp() const {
    Move move = unmoved();
    move.period = 1;
    move.copies = nodes();
    move.first = at(0);
    move.sharp = true;
    std::set<int> leaves;
    for (int place = 0; place < nodes(); ++place) leaves.insert(leaf(place));
    move.leaves = static_cast<int>(leaves.size());
    const bool has_cores = has_pods() && pod(0) != pod(nodes() - 1);  // in ascending order
    if (has_cores) return {unmoved(), "a SHARP tree over core switches"};
    const std::set<int> places(members_.nodes().begin(), members_.nodes().end());
    const bool has_equal_links = has_equal_cables(move, [&](LinkId link, int node) {
      return cluster_.is_trunk(link) ? leaves.contains(node / cluster_.nodes_per_leaf())
                                     : places.contains(node);
    });
    if (!has_equal_links) return {unmoved(), std::string(kCablesDiffer)};
    return {move, ""};
  }

  FoundMove shortest() const {
    std::string last(kWaysDiffer);
    for (int period = 1; period < nodes(); ++period) {
      if (nodes() % period != 0) continue;
      Move move = unmoved();
      const std::string why_not = refusal(period, move);
      if (move.copies > 1) return {move, last};
      // A period that only cables forbid says more than one that no leaf divides.
      if (why_not != kWaysDiffer && last != kCablesDiffer) last = why_not;
    }
    for (const MovedCall& call : calls_)
      if (std::string odd = odd_part(cluster_, *call.run); !odd.empty())
        return {unmoved(), std::move(odd)};
    if (last.empty()) last = "the number of nodes is prime to what a leaf or a pod holds";
    return {unmoved(), last};
  }

  /// Why this period will not do, or the move.
  std::string refusal(int period, Move& move) const {
    const int last = nodes() - 1;
    Move next = move;
    next.period = period;
    next.copies = nodes() / period;
    next.step = first_host(period) - first_host(0);
    next.first = first_host(0);
    if (!are_below_one(cluster_.nodes_per_leaf())) {
      const bool pods = has_pods() && !are_below_one(cluster_.nodes_per_pod());
      if (cluster_.fabric().kind == FabricConfig::Kind::dragonfly)
        return "groups of a dragonfly are unlike";
      const int whole = pods ? cluster_.nodes_per_pod() : cluster_.nodes_per_leaf();
      const char* const what = pods ? "pod" : "leaf";
      if (next.step % whole != 0 || last_host(period - 1) / whole == first_host(period) / whole)
        return fmt::format("nodes of one {} are not in equal places: it holds {}", what, whole);
      next.first = first_host(0) / whole * whole;
    }
    for (int place = period; place <= last; ++place)
      if (first_host(place) - first_host(place - period) != next.step)
        return "the nodes are not spread evenly";
    // Of nodes that stand aside no link is used.
    const auto is_used = [&](LinkId link, int) { return !next.is_aside(cluster_, link); };
    if (!has_equal_cables(next, is_used)) return std::string(kCablesDiffer);
    if (cluster_.has_own_rates() && !has_equal_rates(next)) return "a link has a rate of its own";
    for (const MovedCall& call : calls_)
      if (!has_equal_gpus(call, next)) return "a GPU is slow";
    for (const MovedCall& call : calls_)
      if (const auto why_not = against_ways(call, next); why_not) return *why_not;
    move = next;
    return "";
  }

  /// The fabric is the same whole leaves (pods) on, and nodes are the same; so it is enough to look
  /// at how ranks of the first two nodes and the last one reach other nodes. (Chains of a ring
  /// differ between odd and even nodes at most.)
  std::optional<std::string> against_ways(const MovedCall& call, Move& next) const {
    const CollectiveRun& run = *call.run;
    const Members members = members_of(run, cluster_.nodes());
    Move move = next;
    move.gpus = members.gpus_per_node();
    const RunHops hops(cluster_, run, members);
    MoveCheck check(cluster_, [&](int host) { return image(host, move.period); }, {});
    Seen seen;
    bool takes_all = true;
    for (const int node : std::set{0, 1, nodes() - 1}) {
      for (int i = 0; i < move.gpus * run.channels; ++i) {
        const int rank = node * move.gpus + i / run.channels, channel = i % run.channels;
        const auto from = hops.leaving(channel, rank),
                   to = hops.leaving(channel, move.moved({0, rank}).rank);
        const bool are_alike = std::ranges::equal(from, to, [&](const auto& a, const auto& b) {
          return move.moved({0, a.to}).rank == b.to && a.near.nic == b.near.nic &&
                 a.far.nic == b.far.nic && a.proxy == b.proxy;
        });
        if (!are_alike) return std::string(kWaysDiffer);
        for (std::size_t k = 0; k < from.size(); ++k)
          if (takes_all && is_new(seen, rank, from[k]))
            takes_all = check.takes(hops.way(from[k]), hops.way(to[k]));
      }
    }
    if (takes_all && !check.trunks().empty() && are_below_one(cluster_.nodes_per_leaf())) {
      move.trunk = moved_trunks(cluster_, run, members, move);
      for (const auto& [trunk, simulated] : move.trunk)
        takes_all =
            takes_all && next.trunk.try_emplace(trunk, simulated).first->second == simulated;
    }
    if (takes_all && check.agrees(move)) return std::nullopt;
    return are_below_one(cluster_.nodes_per_leaf()) ? "nodes of one leaf use different spines"
                                                    : "ways of nodes cross the fabric differently";
  }

  /// Channels may share ways.
  using Seen = std::set<std::array<int, 5>>;
  static bool is_new(Seen& seen, int rank, const RunHops::Hop& hop) {
    return seen.insert({rank, hop.to, hop.near.nic, hop.far.nic, hop.proxy.value_or(-1)}).second;
  }

  int image(int host, int period) const {
    const int trays = cluster_.node().trays();
    const auto place =
        std::ranges::lower_bound(members_.nodes(), host / trays) - members_.nodes().begin();
    return first_host((static_cast<int>(place) + period) % nodes()) + host % trays;
  }

  /// Whether what is slow is so in all copies.
  bool has_equal_rates(const Move& move) const {
    for (std::uint32_t id = 0; id < cluster_.links(); ++id) {
      const LinkId link{id};
      if (move.is_aside(cluster_, link)) continue;
      if (cluster_.link(link).rate != cluster_.link(move.representative(cluster_, link)).rate)
        return false;
    }
    return true;
  }
  bool has_equal_gpus(const MovedCall& call, Move move) const {
    move.gpus = members_of(*call.run, cluster_.nodes()).gpus_per_node();
    const std::vector<Faults::SlowGpu>& slow = call.run->faults.gpus;
    return std::ranges::all_of(slow, [&](const Faults::SlowGpu& gpu) {
      return speed_of(slow, move.moved({0, gpu.rank}).rank) == gpu.speed;
    });
  }

  /// Whether links between switches and to NICs are as their copies, where the place of racks
  /// counts.
  template <class IsUsed>
  bool has_equal_cables(const Move& move, IsUsed is_used) const {
    const RackPlan& racks = cluster_.fabric().racks;
    if (racks.pitch_metres == 0 && racks.row_pitch_metres == 0) return true;
    for (std::uint32_t id = index_of(cluster_.first_fabric_link()); id < cluster_.links(); ++id) {
      if (!is_used(LinkId{id}, cluster_.first_node_of(LinkId{id}))) continue;
      const ClusterLink link = cluster_.link(LinkId{id});
      const ClusterLink like = cluster_.link(move.representative(cluster_, LinkId{id}));
      if (link.rate != like.rate || link.latency != like.latency) return false;
    }
    return true;
  }

  const Cluster& cluster_;
  std::span<const MovedCall> calls_;
  Members members_;
};

}  // namespace

std::string odd_part(const Cluster& cluster, const CollectiveRun& run) {
  if (!cluster.offers_gdr_everywhere()) return "a node has no GPUDirect RDMA";
  if (!run.faults.gpus.empty()) return "a GPU is slow";
  if (!run.faults.outages.empty()) return "a link goes down";
  if (cluster.has_own_rates()) return "a link has a rate of its own";
  return "";
}

FoundMove find_shift(const Cluster& cluster, std::span<const MovedCall> calls) {
  return NodeShift(cluster, calls).find();
}

}  // namespace fabricast
