#include "models/nccl/symmetry/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "models/nccl/symmetry/p2p_fold.hpp"
#include "models/nccl/wiring/ring_links.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kCablesDiffer = "cables differ in length";

/// A move by whole nodes that one call has.
class NodeShift {
 public:
  NodeShift(const Cluster& cluster, const FoldedCall& call)
      : cluster_(cluster),
        run_(*call.run),
        partition_(*call.partition),
        members_(members_of(run_, cluster.nodes())) {}

  int node_count() const { return members_.node_count(); }
  bool is_sharp() const {
    return is_tuned(run_.collective) &&
           (run_.algorithm == Algorithm::nvls || run_.algorithm == Algorithm::collnet_direct ||
            run_.algorithm == Algorithm::collnet_chain);
  }

  /// What makes nodes unlike, whatever the network.
  std::string against() const { return node_count() == 1 ? "there is one node" : against_nodes(); }

  /// One node for all: each gives to the tree and takes from it at the same time as the others.
  Fold sharp_fold() const {
    Fold fold;
    fold.sharp = true;
    fold.first = nodes().front();
    std::set<int> leaves;
    for (int place = 0; place < node_count(); ++place) leaves.insert(leaf(place));
    fold.leaves = static_cast<int>(leaves.size());
    fold.copies = node_count();
    const bool has_cores = has_pods() && pod(0) != pod(node_count() - 1);  // in ascending order
    if (!has_cores && has_equal_links_below(leaves, fold)) return fold;
    fold = {};
    fold.nodes = node_count();
    fold.why_not = has_cores ? "a SHARP tree over core switches" : "cables differ in length";
    return fold;
  }

  /// Odd nodes may have other chains than even ones.
  int least_period() const {
    if (!is_tuned(run_.collective) || run_.algorithm != Algorithm::ring) return 1;
    const int searched = ring_search_channel(run_.graph, 0, 1, node_count(), run_.version);
    return searched == ring_search_channel(run_.graph, 0, 0, node_count(), run_.version) ? 1 : 2;
  }

  /// Why this period will not do. Sets the step.
  std::string refusal(int period, Fold& fold) const {
    const auto at = [&](int place) { return nodes()[static_cast<std::size_t>(place)]; };
    const int last = node_count() - 1;
    fold.nodes = node_count();
    fold.step = at(period) - at(0);
    fold.first = at(0);
    const bool one_leaf = leaf(0) == leaf(last);
    if (one_leaf && crosses_rails()) return "nodes of one leaf use different spines";
    if (!one_leaf) {
      const bool pods = has_pods() && pod(0) != pod(last);
      if (cluster_.fabric().kind == FabricConfig::Kind::dragonfly)
        return "groups of a dragonfly are unlike";
      const int whole = pods ? cluster_.nodes_per_pod() : cluster_.nodes_per_leaf();
      const char* const what = pods ? "pod" : "leaf";
      if (fold.step % whole != 0 || at(period - 1) / whole == at(period) / whole)
        return fmt::format("nodes of one {} are not in equal places: it holds {}", what, whole);
      fold.first = at(0) / whole * whole;
    }
    for (int place = period; place <= last; ++place) {
      if (at(place) - at(place - period) != fold.step) return "the nodes are not spread evenly";
    }
    if (!has_equal_links(period, fold)) return std::string(kCablesDiffer);
    return "";
  }

 private:
  const std::vector<int>& nodes() const { return members_.nodes(); }
  int leaf(int place) const {
    return nodes()[static_cast<std::size_t>(place)] / cluster_.nodes_per_leaf();
  }
  int pod(int place) const {
    return nodes()[static_cast<std::size_t>(place)] / cluster_.nodes_per_pod();
  }

  bool has_pods() const { return cluster_.layout().switches(SwitchTier::core) > 0; }

  /// What makes ranks unlike, whatever the network.
  std::string against_nodes() const {
    if (cluster_.hosts() != cluster_.nodes()) return "nodes are NVLink domains of several hosts";
    if (const std::string odd = odd_part(cluster_, run_); !odd.empty()) return odd;
    if (!is_tuned(run_.collective)) return against_p2p_fold(run_);
    switch (run_.algorithm) {
      case Algorithm::pat:
        return "";
      case Algorithm::ring:
        return against_ring();
      case Algorithm::tree:
      case Algorithm::nvls_tree:
        return "nodes of a binary tree are unlike";
      case Algorithm::nvls:
      case Algorithm::collnet_direct:
      case Algorithm::collnet_chain:
        return run_.collective == Collective::all_reduce ? "" : "each node has a share of its own";
    }
    return "";
  }

  bool has_equal_links_below(const std::set<int>& leaves, const Fold& fold) const {
    if (!has_places_of_racks()) return true;
    const std::set<int> places(nodes().begin(), nodes().end());
    for (std::uint32_t id = index_of(cluster_.first_fabric_link()); id < cluster_.links(); ++id) {
      const int node = cluster_.first_node_of(LinkId{id});
      const bool is_used = cluster_.is_trunk(LinkId{id})
                               ? leaves.contains(node / cluster_.nodes_per_leaf())
                               : places.contains(node);
      if (is_used && !is_like(LinkId{id}, fold)) return false;
    }
    return true;
  }

  bool is_like(LinkId id, const Fold& fold) const {
    const ClusterLink link = cluster_.link(id);
    const ClusterLink like = cluster_.link(fold.representative(cluster_, id));
    return link.rate == like.rate && link.latency == like.latency;
  }
  bool has_places_of_racks() const {
    const RackPlan& racks = cluster_.fabric().racks;
    return racks.pitch_metres != 0 || racks.row_pitch_metres != 0;
  }

  std::string against_ring() const {
    if (has_root(run_.collective)) return "the root is unlike other ranks";
    if (run_.collective != Collective::all_reduce) return "";
    const auto ranks = static_cast<std::uint32_t>(members_.ranks());
    for (const ChannelPart& part : partition_.parts) {
      const std::int64_t loops = loop_count(part, Algorithm::ring, run_.collective, ranks);
      const ChunkLoop last = chunk_loop(part, Algorithm::ring, run_.collective, ranks, loops - 1);
      if (last.left_elements != last.chunk_elements * ranks)
        return "the last chunks of ranks differ in size";
    }
    return "";
  }

  /// Whether the network takes bytes from a NIC to one of another number.
  bool crosses_rails() const {
    if (cluster_.fabric().kind != FabricConfig::Kind::rail_optimised) return false;
    if (!is_tuned(run_.collective)) return crosses_nics(run_.p2p.nics, members_, run_.channels);
    for (int channel = 0; channel < run_.channels; ++channel) {
      if (run_.algorithm == Algorithm::ring) {
        const GlobalRing ring = global_ring(run_.graph, 2, channel, run_.version);
        for (const NodeCrossing& crossing : ring.crossings)
          if (crossing.from_nic != crossing.to_nic) return true;
      } else {
        std::set<int> nics;
        for (int gpu = 0; gpu < members_.gpus_per_node(); ++gpu)
          nics.insert(nic_of(run_.graph, channel, gpu));
        if (nics.size() > 1) return true;
      }
    }
    return false;
  }

  /// Link by link, where the place of racks counts.
  bool has_equal_links(int period, const Fold& found) const {
    if (!has_places_of_racks()) return true;
    Fold fold = found;
    fold.copies = members_.node_count() / period;
    for (std::uint32_t id = index_of(cluster_.first_fabric_link()); id < cluster_.links(); ++id) {
      const int ahead = cluster_.first_node_of(LinkId{id}) - fold.first;
      if (ahead < 0 || ahead / fold.step >= fold.copies) continue;  // of nodes that stand aside
      if (!is_like(LinkId{id}, fold)) return false;
    }
    return true;
  }

  const Cluster& cluster_;
  const CollectiveRun& run_;
  const Partition& partition_;
  Members members_;
};

/// The shortest move by whole nodes that all of some calls have.
Fold common_shift(const std::vector<NodeShift>& calls) {
  const int nodes = calls.front().node_count();
  Fold fold;
  fold.nodes = nodes;
  for (const NodeShift& call : calls)
    if (fold.why_not = call.against(); !fold.why_not.empty()) return fold;
  std::string last = "the number of nodes is prime to what a leaf or a pod holds";
  int least = 1;
  for (const NodeShift& call : calls) least = std::lcm(least, call.least_period());
  for (int period = least; period < nodes; period += least) {
    if (nodes % period != 0) continue;
    std::string why_not;
    for (const NodeShift& call : calls)
      if (why_not.empty()) why_not = call.refusal(period, fold);
    if (why_not.empty()) {
      fold.nodes = period;
      fold.copies = nodes / period;
      fold.why_not = period == least ? "" : last;
      return fold;
    }
    // A period that only cables forbid says more than one that no leaf divides.
    if (last != kCablesDiffer) last = why_not;
  }
  fold.why_not = last;
  return fold;
}

}  // namespace

LinkId Fold::below_first(const Cluster& cluster, LinkId link) const {
  const int whole = cluster.is_trunk(link) ? cluster.nodes_per_leaf() : 1;
  return cluster.moved_back(link, cluster.first_node_of(link) - first / whole * whole);
}

Fold unfolded(const Members& members, const Partition& partition) {
  Fold out;
  out.nodes = members.node_count();
  out.rails = unfolded_rails(partition);
  out.lanes = all_lanes(partition);
  return out;
}

Fold find_shift(const Cluster& cluster, std::span<const FoldedCall> calls) {
  std::vector<NodeShift> shifts;
  for (const FoldedCall& call : calls) shifts.emplace_back(cluster, call);
  // Several that share SHARP trees each have a tree of their own below it.
  const bool is_sharp = std::ranges::any_of(shifts, &NodeShift::is_sharp);
  if (is_sharp && shifts.size() == 1 && shifts.front().against().empty())
    return shifts.front().sharp_fold();
  Fold out = common_shift(shifts);
  if (is_sharp && out.why_not.empty() && out.copies > 1) {
    out = {};
    out.nodes = shifts.front().node_count();
    out.why_not = "calls fold in different ways";
  }
  return out;
}

Fold find_fold(const Cluster& cluster, const CollectiveRun& run) {
  const Members members = members_of(run, cluster.nodes());
  return find_fold(cluster, run, run.has_algorithm() ? partition_of(run, members) : Partition{});
}

Fold find_fold(const Cluster& cluster, const CollectiveRun& run, const Partition& partition) {
  const Members members = members_of(run, cluster.nodes());
  const bool is_fused = !run.transport.network.fused.empty();
  if (is_fused || run.custom || members.is_split()) {
    Fold none = unfolded(members, partition);
    none.why_not = run.custom ? "ranks of a custom algorithm are unlike"
                   : is_fused ? "messages are split over NICs that NCCL takes for one"
                              : "hosts fall apart into groups of GPUs";
    return none;
  }
  const FoldedCall call{&run, &partition};
  Fold fold = find_shift(cluster, {&call, 1});
  if (!is_tuned(run.collective)) return fold;
  const bool nvls = is_nvls(run.algorithm);
  const bool tree = run.algorithm == Algorithm::tree || run.algorithm == Algorithm::nvls_tree;
  fold.rails = tree || (nvls && members.node_count() == 1)
                   ? find_rails(cluster, run, members, partition)
                   : unfolded_rails(partition);
  if (tree) {
    fold.mirror = find_mirror(cluster, run, members, partition, fold.rails);
    if (fold.mirror.folds) fold.why_not = "nodes of a binary tree have one image each";
    for (const std::string& too : {fold.mirror.why_not, fold.rails.why_not})
      if (!fold.why_not.ends_with(too)) fold.why_not += "; " + too;
  }
  fold.lanes = nvls ? find_lanes(run, members, partition) : all_lanes(partition);
  fold.merges = nvls && run.faults.outages.empty();
  return fold;
}

}  // namespace fabricast
