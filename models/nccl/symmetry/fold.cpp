#include "models/nccl/symmetry/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/nccl/symmetry/p2p_fold.hpp"
#include "models/nccl/wiring/ring_links.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kCablesDiffer = "cables differ in length";

class NodeShiftFinder {
 public:
  NodeShiftFinder(const Cluster& cluster, const CollectiveRun& run)
      : cluster_(cluster), run_(run), members_(members_of(run, cluster.nodes())) {}

  Fold find() {
    const int nodes = members_.node_count();
    Fold fold;
    fold.nodes = nodes;
    fold.why_not = nodes == 1 ? "there is one node" : against();
    if (!fold.why_not.empty()) return fold;
    if (is_sharp()) return sharp_fold();
    std::string last = "the number of nodes is prime to what a leaf or a pod holds";
    const int least = least_period();
    for (int period = least; period < nodes; period += least) {
      if (nodes % period != 0) continue;
      const std::string why_not = refusal(period, fold);
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
  std::string against() const {
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

  bool is_sharp() const {
    return is_tuned(run_.collective) &&
           (run_.algorithm == Algorithm::nvls || run_.algorithm == Algorithm::collnet_direct ||
            run_.algorithm == Algorithm::collnet_chain);
  }

  /// One node for all: each gives to the tree and takes from it at the same time as the others.
  Fold sharp_fold() const {
    Fold fold;
    fold.sharp = true;
    fold.first = nodes().front();
    std::set<int> leaves;
    for (int place = 0; place < members_.node_count(); ++place) leaves.insert(leaf(place));
    fold.leaves = static_cast<int>(leaves.size());
    fold.copies = members_.node_count();
    const bool has_cores =
        has_pods() && pod(0) != pod(members_.node_count() - 1);  // nodes are in ascending order
    if (!has_cores && has_equal_links_below(leaves, fold)) return fold;
    fold = {};
    fold.nodes = members_.node_count();
    fold.why_not = has_cores ? "a SHARP tree over core switches" : "cables differ in length";
    return fold;
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
    for (const ChannelPart& part : partition_of(run_, members_).parts) {
      const std::int64_t loops = loop_count(part, Algorithm::ring, run_.collective, ranks);
      const ChunkLoop last = chunk_loop(part, Algorithm::ring, run_.collective, ranks, loops - 1);
      if (last.left_elements != last.chunk_elements * ranks)
        return "the last chunks of ranks differ in size";
    }
    return "";
  }

  /// Odd nodes may have other chains than even ones.
  int least_period() const {
    if (!is_tuned(run_.collective) || run_.algorithm != Algorithm::ring) return 1;
    const int searched = ring_search_channel(run_.graph, 0, 1, members_.node_count(), run_.version);
    return searched == ring_search_channel(run_.graph, 0, 0, members_.node_count(), run_.version)
               ? 1
               : 2;
  }

  /// Why this period will not do. Sets the step.
  std::string refusal(int period, Fold& fold) const {
    const auto at = [&](int place) { return nodes()[static_cast<std::size_t>(place)]; };
    const int last = members_.node_count() - 1;
    fold.nodes = members_.node_count();
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
  Members members_;
};

}  // namespace

LinkId Fold::below_first(const Cluster& cluster, LinkId link) const {
  const int whole = cluster.is_trunk(link) ? cluster.nodes_per_leaf() : 1;
  return cluster.moved_back(link, cluster.first_node_of(link) - first / whole * whole);
}

Fold find_fold(const Cluster& cluster, const CollectiveRun& run) {
  const bool is_fused = !run.transport.network.fused.empty();
  if (run.calls > 1 || is_fused || run.custom || run.members.is_split()) {
    const Members members = members_of(run, cluster.nodes());
    Fold none;
    none.nodes = members.node_count();
    none.why_not = run.custom           ? "ranks of a custom algorithm are unlike"
                   : is_fused           ? "messages are split over NICs that NCCL takes for one"
                   : members.is_split() ? "hosts fall apart into groups of GPUs"
                                        : "calls of a group are not folded yet";
    if (run.has_algorithm()) {
      const Partition partition = partition_of(run, members);
      none.rails = unfolded_rails(partition);
      none.lanes = all_lanes(partition);
    }
    return none;
  }
  Fold fold = NodeShiftFinder(cluster, run).find();
  if (!is_tuned(run.collective)) return fold;
  const Members members = members_of(run, cluster.nodes());
  const Partition partition = partition_of(run, members);
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
