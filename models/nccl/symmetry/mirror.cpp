// Moves of both trees onto each other.

#include <algorithm>
#include <array>
#include <set>

#include "models/nccl/symmetry/move_check.hpp"
#include "models/nccl/symmetry/move_finders.hpp"
#include "models/nccl/symmetry/run_hops.hpp"
#include "models/nccl/wiring/nvls_links.hpp"

namespace fabricast {
namespace {

class MirrorFinder {
 public:
  MirrorFinder(const Cluster& cluster, const CollectiveRun& run, const Members& members,
               const Partition& partition, const Move& turn)
      : cluster_(cluster),
        run_(run),
        members_(members),
        partition_(partition),
        turn_(turn),
        hops_(cluster, run, members),
        check_(cluster, [this](int host) { return image_[static_cast<std::size_t>(host)]; }, {}) {
    move_.nodes = nodes();
    move_.gpus = members.gpus_per_node();
  }

  FoundMove find() {
    if (const std::string why = against(); !why.empty()) return refusal(why);
    image_.resize(static_cast<std::size_t>(cluster_.nodes()));
    for (int place = 0; place < nodes(); ++place)
      image_[static_cast<std::size_t>(node_at(place))] = node_at(nodes() - 1 - place);
    move_.reverses = true;
    move_.copies = 2;
    if (!pairs_lanes()) return refusal("the two trees have different shares");
    for (std::uint32_t lane = 0; lane < partition_.parts.size(); ++lane)
      if (is_new(lane) && !takes(lane))
        return refusal("ways of the two trees cross the fabric differently");
    for (int place = nodes() / 2; place < nodes(); ++place)
      move_.image[node_at(place)] = node_at(nodes() - 1 - place);
    for (const auto& [from, to] : check_.trunks()) move_.trunk[from] = std::min(from, to);
    if (!check_.agrees(move_)) return refusal("ways of the two trees cross the fabric differently");
    return {move_, ""};
  }

 private:
  FoundMove refusal(std::string why) const {
    FoundMove none{{}, std::move(why)};
    none.move.nodes = nodes();
    none.move.gpus = members_.gpus_per_node();
    return none;
  }

  int nodes() const { return members_.node_count(); }
  int node_at(int place) const { return members_.nodes()[static_cast<std::size_t>(place)]; }
  int channel(std::uint32_t lane) const { return partition_.parts[lane].channel; }

  std::string against() const {
    if (cluster_.hosts() != cluster_.nodes()) return "nodes are NVLink domains of several hosts";
    if (const std::string odd = odd_part(cluster_, run_); !odd.empty()) return odd;
    if (!std::ranges::is_sorted(members_.nodes())) return "ranks are not in the order of nodes";
    if (nodes() % 2 != 0) return "an odd number of nodes has no second half";
    return "";
  }

  bool is_nvls_tree() const { return run_.algorithm == Algorithm::nvls_tree; }
  /// The channel of the other tree (tree_links(), nvls_links()).
  int counterpart(int channel) const {
    if (is_nvls_tree()) return channel ^ 1;
    const int searched = run_.graph.channel_count();
    const int both = channel / (2 * searched) * 2 * searched;
    return both + (channel - both + searched) % (2 * searched);
  }

  /// Each part has one like it on the other tree, and rails turn there in the same way.
  bool pairs_lanes() {
    const std::vector<ChannelPart>& parts = partition_.parts;
    for (const ChannelPart& part : parts) {
      const auto at = std::ranges::find(parts, counterpart(part.channel), &ChannelPart::channel);
      if (at == parts.end() || at->count_elements != part.count_elements ||
          at->chunk_elements != part.chunk_elements)
        return false;
      move_.lane.push_back(static_cast<std::uint32_t>(at - parts.begin()));
    }
    const std::vector<std::uint32_t>& turned = turn_.lane;
    for (std::uint32_t lane = 0; lane < turned.size(); ++lane)
      if (turned[move_.lane[lane]] != move_.lane[turned[lane]] ||
          (is_first(lane) && !is_first(move_.lane[lane])))
        return false;
    return true;
  }

  /// Of its copies on other rails.
  bool is_first(std::uint32_t lane) const {
    return turn_.representative(BlockPlace{lane, 0}).lane == lane;
  }

  /// Not a lane whose ways have been looked at with another: its counterpart's, a rail's, or one of
  /// a channel with the same ends.
  bool is_new(std::uint32_t lane) {
    if (move_.lane[lane] < lane || !is_first(lane)) return false;
    std::vector<int> ends;
    if (is_nvls_tree()) {
      for (const int head : distinct_heads(run_.graph))
        ends.push_back(nic_of_head(run_.graph, head, channel(lane)));
    } else {
      ends.push_back(channel(lane) % run_.graph.channel_count());
    }
    return seen_.insert(ends).second;
  }

  /// All ways between nodes on this lane, and those of its counterpart.
  bool takes(std::uint32_t lane) {
    for (int rank = 0; rank < members_.ranks(); ++rank) {
      const bool is_copy = is_nvls_tree() && turn_.representative(rank) != rank;
      if (!is_copy && !takes(BlockPlace{lane, rank})) return false;
    }
    return true;
  }
  bool takes(BlockPlace from) {
    const BlockPlace to = move_.moved(from);
    const auto hops = hops_.leaving(channel(from.lane), from.rank),
               images = hops_.leaving(channel(to.lane), to.rank);
    return std::ranges::equal(hops, images, [&](const RunHops::Hop& a, const RunHops::Hop& b) {
      return move_.moved({from.lane, a.to}).rank == b.to && takes(a, b);
    });
  }
  /// Between GPUs and NICs whose ways have been looked at, other nodes have other links of the
  /// fabric, and inside the same ones.
  bool takes(const RunHops::Hop& a, const RunHops::Hop& b) {
    const std::array ends = {a.near.gpu, a.near.nic, a.far.gpu, a.far.nic,
                             b.near.gpu, b.near.nic, b.far.gpu, b.far.nic};
    if (!known_ends_.insert(ends).second) {
      const std::vector<LinkId> there = fabric_way(cluster_, a.near, a.far),
                                back = fabric_way(cluster_, b.near, b.far);
      return check_.takes(there, back) && check_.takes(back, there);
    }
    const Transport there = hops_.way(a), back = hops_.way(b);
    return check_.takes(there, back) && check_.takes(back, there);
  }

  const Cluster& cluster_;
  const CollectiveRun& run_;
  const Members& members_;
  const Partition& partition_;
  const Move& turn_;
  RunHops hops_;
  MoveCheck check_;
  Move move_;
  std::vector<int> image_;  ///< of the cluster's nodes
  std::set<std::vector<int>> seen_;
  std::set<std::array<int, 8>> known_ends_;
};

}  // namespace

FoundMove find_mirror(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                      const Partition& partition, const Move& turn) {
  return MirrorFinder(cluster, run, members, partition, turn).find();
}

}  // namespace fabricast
