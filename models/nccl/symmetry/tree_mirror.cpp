#include "models/nccl/symmetry/tree_mirror.hpp"

#include <algorithm>
#include <set>

#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

class MirrorFinder {
 public:
  MirrorFinder(const Cluster& cluster, const CollectiveRun& run, const Members& members,
               const Partition& partition, const Rails& rails)
      : cluster_(cluster), run_(run), members_(members), partition_(partition), rails_(rails) {}

  TreeMirror find() {
    out_.why_not = against();
    if (!out_.why_not.empty()) return out_;
    for (int place = 0; place < nodes(); ++place) image_[node_at(place)] = node_at(last() - place);
    if (!pairs_lanes()) return refusal("the two trees have different shares");
    for (const std::vector<std::uint32_t>& lanes : rails_.lanes)
      if (is_new(lanes.front()) && !has_like_ways(lanes.front()))
        return refusal("ways of the two trees cross the fabric differently");
    for (int place = nodes() / 2; place < nodes(); ++place)
      out_.node[node_at(place)] = node_at(last() - place);
    for (const auto& [from, to] : trunks_) out_.trunk[from] = std::min(from, to);
    out_.folds = true;
    return out_;
  }

 private:
  static TreeMirror refusal(const char* why) {
    TreeMirror none;
    none.why_not = why;
    return none;
  }

  int nodes() const { return members_.node_count(); }
  int last() const { return nodes() - 1; }
  int node_at(int place) const { return members_.nodes()[static_cast<std::size_t>(place)]; }

  std::string against() const {
    if (cluster_.hosts() != cluster_.nodes()) return "nodes are NVLink domains of several hosts";
    if (const std::string odd = odd_part(cluster_, run_); !odd.empty()) return odd;
    if (nodes() % 2 != 0) return "an odd number of nodes has no second half";
    return "";
  }

  int channel(std::uint32_t lane) const { return partition_.parts[lane].channel; }

  bool is_nvls_tree() const { return run_.algorithm == Algorithm::nvls_tree; }
  /// The channel of the other tree (tree_links(), nvls_links()).
  int counterpart(int channel) const {
    if (is_nvls_tree()) return channel ^ 1;
    const int searched = run_.graph.channel_count();
    const int both = channel / (2 * searched) * 2 * searched;
    return both + (channel - both + searched) % (2 * searched);
  }

  /// Each part has one like it on the other tree, and rails are folded there in the same way.
  bool pairs_lanes() {
    const std::vector<ChannelPart>& parts = partition_.parts;
    for (const ChannelPart& part : parts) {
      const int other = counterpart(part.channel);
      const auto at = std::ranges::find(parts, other, &ChannelPart::channel);
      if (at == parts.end() || at->count_elements != part.count_elements ||
          at->chunk_elements != part.chunk_elements)
        return false;
      out_.lane.push_back(static_cast<std::uint32_t>(at - parts.begin()));
    }
    return std::ranges::all_of(rails_.lanes, [&](const std::vector<std::uint32_t>& lanes) {
      std::vector<std::uint32_t> others;
      for (const std::uint32_t lane : lanes) others.push_back(out_.lane[lane]);
      return std::ranges::find(rails_.lanes, others) != rails_.lanes.end();
    });
  }

  Endpoint end(int rank, std::uint32_t lane) const {
    const int local = rank % members_.gpus_per_node();
    const int nic = is_nvls_tree() ? nic_of_head(run_.graph, local, channel(lane))
                                   : nic_of(run_.graph, channel(lane), local);
    return {members_.node(rank), members_.gpu(rank), nic};
  }
  int mirrored(int rank) const {
    return TreeMirror::mirrored(rank, members_.gpus_per_node(), nodes());
  }

  /// All ways between nodes on this lane, and those of its counterpart.
  bool has_like_ways(std::uint32_t lane) {
    if (is_nvls_tree()) {
      const std::vector<int> heads = distinct_heads(run_.graph);
      return std::ranges::all_of(heads, [&](int head) {
        const bool is_copy =
            rails_.copies > 1 && rails_.gpu[static_cast<std::size_t>(head)] != head;
        return is_copy || has_like_ways(lane, head);
      });
    }
    const int searched = channel(lane) % run_.graph.channel_count();
    return has_like_ways(lane,
                         run_.graph.channels[static_cast<std::size_t>(searched)].gpu_order.front());
  }
  /// The ways up from this GPU of each node, and back.
  bool has_like_ways(std::uint32_t lane, int local) {
    const int gpus = members_.gpus_per_node();
    for (int place = 0; place < nodes(); ++place) {
      const int rank = place * gpus + local;
      const int up = is_nvls_tree() ? nvls_links(run_.graph, nodes(), gpus, channel(lane), rank).up
                                    : tree_links(run_.graph, nodes(), channel(lane), rank).up;
      if (up < 0 || up / gpus == place) continue;
      if (!is_like(lane, rank, up) || !is_like(lane, up, rank)) return false;
    }
    return true;
  }

  /// Not a lane whose ways have been looked at with another: its counterpart's, or one of a channel
  /// with the same ends.
  bool is_new(std::uint32_t lane) {
    if (counterpart(channel(lane)) < channel(lane)) return false;
    std::vector<int> ends;
    if (is_nvls_tree()) {
      for (const int head : distinct_heads(run_.graph)) ends.push_back(end(head, lane).nic);
    } else {
      ends.push_back(channel(lane) % run_.graph.channel_count());
    }
    return seen_.insert(ends).second;
  }

  bool is_like(std::uint32_t lane, int from, int to) {
    const std::uint32_t other = out_.lane[lane];
    const Transport a = way(end(from, lane), end(to, lane)),
                    b = way(end(mirrored(from), other), end(mirrored(to), other));
    return a.kind == b.kind && a.sender_flag == b.sender_flag &&
           a.receiver_flag == b.receiver_flag && a.flush == b.flush && a.proxy_gpu == b.proxy_gpu &&
           move(a.into_slots, b.into_slots) && move(a.network, b.network);
  }
  Transport way(Endpoint from, Endpoint to) const {
    return plan_transport(cluster_, members_.gpus(), run_.protocol, from, to, run_.transport);
  }

  /// Whether links go to those of their kind: of nodes to the same of the image, between switches
  /// to others in pairs.
  bool move(const std::vector<LinkId>& from, const std::vector<LinkId>& to) {
    return std::ranges::equal(from, to, [&](LinkId a, LinkId b) {
      const ClusterLink x = cluster_.link(a), y = cluster_.link(b);
      if (x.rate != y.rate || x.latency != y.latency) return false;
      if (cluster_.is_trunk(a)) return cluster_.is_trunk(b) && pair(index_of(a), index_of(b));
      const int node = cluster_.first_node_of(a);
      return cluster_.moved_back(a, node - image_.at(node)) == b;
    });
  }
  bool pair(std::uint32_t a, std::uint32_t b) {
    return a != b && trunks_.try_emplace(a, b).first->second == b &&
           trunks_.try_emplace(b, a).first->second == a;
  }

  const Cluster& cluster_;
  const CollectiveRun& run_;
  const Members& members_;
  const Partition& partition_;
  const Rails& rails_;
  TreeMirror out_;
  std::set<std::vector<int>> seen_;
  std::map<int, int> image_;                       ///< of all nodes
  std::map<std::uint32_t, std::uint32_t> trunks_;  ///< there and back
};

}  // namespace

LinkId TreeMirror::representative(const Cluster& cluster, LinkId link) const {
  if (!folds) return link;
  if (cluster.is_trunk(link)) return LinkId{trunk.at(index_of(link))};
  const int at = cluster.first_node_of(link);
  const auto image = node.find(at);
  return image == node.end() ? link : cluster.moved_back(link, at - image->second);
}

TreeMirror find_mirror(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                       const Partition& partition, const Rails& rails) {
  return MirrorFinder(cluster, run, members, partition, rails).find();
}

}  // namespace fabricast
