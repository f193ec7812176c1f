#include "models/nccl/symmetry/rails.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

using Map = std::map<int, int>;

/// Whether `from` may go to `to`: nothing else does, and it goes nowhere else.
bool put(Map& map, Map& inverse, int from, int to) {
  return map.try_emplace(from, to).first->second == to &&
         inverse.try_emplace(to, from).first->second == from;
}

/// How often a map must be applied until all are where they began, if it is the same for each;
/// else 0. REQUIRES: one to one.
int order(const Map& map) {
  int all = 0;
  for (const auto& [first, next] : map) {
    int steps = 1;
    for (int at = next; at != first; ++steps) {
      const auto found = map.find(at);
      if (found == map.end()) return 0;
      at = found->second;
    }
    if (all != 0 && steps != all) return 0;
    all = steps;
  }
  return all;
}

int least_of_cycle(const Map& map, int first) {
  int least = first;
  for (int at = map.at(first); at != first; at = map.at(at)) least = std::min(least, at);
  return least;
}

/// One move, and what it does to GPUs, NICs, channels and links.
struct Move {
  Map gpus, nics, channels, links;
};

class RailFinder {
 public:
  RailFinder(const Cluster& cluster, const CollectiveRun& run, const Members& members,
             const Partition& partition)
      : cluster_(cluster), run_(run), members_(members), partition_(partition) {}

  Rails find() const {
    Rails best = none("rails are unlike");
    if (const std::string odd = odd_part(cluster_, run_); !odd.empty()) return none(odd);
    if (!has_equal_planes()) return none("ways of rails cross the fabric differently");
    if (run_.algorithm != Algorithm::tree) return find_heads();
    for (int target = 1; target < run_.graph.channel_count(); ++target) {
      Rails rails = folded(target);
      if (rails.copies > best.copies) best = std::move(rails);
    }
    return best;
  }

 private:
  Rails none(std::string why) const {
    Rails out = unfolded_rails(partition_);
    out.why_not = std::move(why);
    return out;
  }

  /// The channels of NVLS stay, and its heads move.
  Rails find_heads() const {
    const std::vector<int> heads = distinct_heads(run_.graph);
    if (std::ssize(heads) != members_.gpus_per_node()) return none("not every GPU is a head");
    if (!has_equal_chunks()) return none("the last chunks of heads differ in size");
    Rails best = none("rails are unlike");
    for (std::size_t by = 1; by < heads.size(); ++by) {
      Rails rails = turned(heads, by);
      if (rails.copies > best.copies) best = std::move(rails);
    }
    return best;
  }

  bool has_equal_chunks() const {
    const auto heads = static_cast<std::uint32_t>(members_.gpus_per_node());
    const HeadChunks chunks(run_.collective, heads, members_.node_count(), partition_);
    for (std::uint32_t lane = 0; lane < partition_.parts.size(); ++lane) {
      const std::uint32_t last = chunks.loops(lane) - 1;
      if (chunks.one(lane, last, 0) != chunks.one(lane, last, heads - 1)) return false;
    }
    return true;
  }

  /// Each head goes so many on.
  Rails turned(const std::vector<int>& heads, std::size_t by) const {
    Rails out = none("rails are unlike");
    Move move;
    Map back, nics_back;
    for (std::size_t i = 0; i < heads.size(); ++i)
      move.gpus[heads[i]] = heads[(i + by) % heads.size()];
    const int copies = order(move.gpus);
    if (!has_equal_gpus(move) || !moves_switch_links(move, back)) return out;
    for (const ChannelPart& part : partition_.parts) {
      if (members_.node_count() == 1) break;
      for (const auto& [from, to] : move.gpus) {
        const int a = nic_of_head(run_.graph, from, part.channel),
                  b = nic_of_head(run_.graph, to, part.channel);
        if (move.nics.contains(a) && move.nics.at(a) == b) continue;  // looked at already
        if (!put(move.nics, nics_back, a, b)) return out;
        for (const bool is_up : {false, true})
          if (!moves_way(move, back, way(is_up, from, a, !is_up, from, a),
                         way(is_up, to, b, !is_up, to, b)))
            return out;
      }
    }
    if (order(move.links) != copies) return out;
    out.copies = copies;
    out.why_not.clear();
    fill(out, move);
    return out;
  }

  /// Of all GPUs, which every head uses.
  bool moves_switch_links(Move& move, Map& back) const {
    const NodeGraph& node = cluster_.node();
    const auto vertex = [&](int local) {
      const auto gpu = static_cast<std::size_t>(members_.gpus()[static_cast<std::size_t>(local)]);
      return node.gpus()[gpu].vertex;
    };
    return std::ranges::all_of(move.gpus, [&](const auto& moved) {
      const auto [from, to] = moved;
      const auto a = node.nvlink_route(vertex(from), vertex(to)),
                 b = node.nvlink_route(vertex(to), vertex(move.gpus.at(to)));
      const auto like = [&](LinkId x, LinkId y) {
        return node.link(x).rate == node.link(y).rate &&
               node.link(x).latency == node.link(y).latency &&
               put(move.links, back, static_cast<int>(index_of(x)), static_cast<int>(index_of(y)));
      };
      return a.size() == 2 && b.size() == 2 && like(a.front(), b.front()) &&
             like(a.back(), b.back());
    });
  }

  const GraphChannel& channel(int number) const {
    return run_.graph.channels[static_cast<std::size_t>(number)];
  }

  /// Planes of a rail-optimised fabric of two tiers are alike; below one leaf there is nothing.
  bool has_equal_planes() const {
    if (members_.node_count() == 1) return true;
    if (cluster_.leaf_number(members_.nodes().front()) ==
            cluster_.leaf_number(members_.nodes().back()) &&
        cluster_.fabric().kind != FabricConfig::Kind::rail_optimised)
      return true;
    return cluster_.fabric().kind == FabricConfig::Kind::rail_optimised && cluster_.has_two_tiers();
  }

  /// What the move does that takes the first channel to this one.
  Rails folded(int target) const {
    Rails out = none("rails are unlike");
    Move move;
    Map gpus_back, nics_back;
    if (!moves_channel(move, gpus_back, nics_back, 0, target)) return out;
    std::vector<bool> taken(static_cast<std::size_t>(run_.graph.channel_count()));
    for (int from = 0; from < run_.graph.channel_count(); ++from) {
      const auto to = image(from, move, taken);
      if (!to || !moves_channel(move, gpus_back, nics_back, from, *to)) return out;
      taken[static_cast<std::size_t>(*to)] = true;
      move.channels[from] = *to;
    }
    const int copies = order(move.gpus);
    if (copies < 2 || order(move.channels) != copies || !has_equal_gpus(move) ||
        !moves_links(move) || order(move.links) != copies)
      return out;
    std::vector<std::vector<std::uint32_t>> classes = classes_of(move);
    if (classes.empty()) return out;
    out.lanes = std::move(classes);
    out.copies = copies;
    out.why_not.clear();
    fill(out, move);
    return out;
  }

  bool moves_channel(Move& move, Map& gpus_back, Map& nics_back, int from, int to) const {
    const GraphChannel &a = channel(from), &b = channel(to);
    for (std::size_t i = 0; i < a.gpu_order.size(); ++i)
      if (!put(move.gpus, gpus_back, a.gpu_order[i], b.gpu_order[i])) return false;
    return members_.node_count() == 1 || (put(move.nics, nics_back, a.net_in, b.net_in) &&
                                          put(move.nics, nics_back, a.net_out, b.net_out));
  }

  /// The first free channel whose chain is that of `from`, moved. Equal channels keep their order.
  std::optional<int> image(int from, const Move& move, const std::vector<bool>& taken) const {
    for (int to = 0; to < run_.graph.channel_count(); ++to) {
      if (taken[static_cast<std::size_t>(to)]) continue;
      const std::vector<int>&a = channel(from).gpu_order, &b = channel(to).gpu_order;
      if (std::ranges::equal(a, b, {}, [&](int gpu) { return move.gpus.at(gpu); })) return to;
    }
    return std::nullopt;
  }

  bool has_equal_gpus(const Move& move) const {
    const auto part = [&](int local) -> const GpuPart& {
      const auto gpu = static_cast<std::size_t>(members_.gpus()[static_cast<std::size_t>(local)]);
      return cluster_.node().gpus()[gpu].part;
    };
    const std::size_t protocol = index_of(run_.protocol);
    return std::ranges::all_of(move.gpus, [&](const auto& m) {
      const GpuPart &from = part(m.first), &to = part(m.second);
      return from.copy_rate[protocol] == to.copy_rate[protocol] && from.sm == to.sm;
    });
  }

  /// Where the links of all hops go, and whether these are of their kind.
  bool moves_links(Move& move) const {
    Map back;
    for (const auto& channels : move.channels) {
      const int from = channels.first, to = channels.second;
      const std::vector<int>&a = channel(from).gpu_order, &b = channel(to).gpu_order;
      const auto add = [&](int node_from, std::size_t i, int node_to, std::size_t k) {
        const auto nic = [&](int of, int local) { return nic_of(run_.graph, of, local); };
        return moves_way(move, back,
                         way(node_from, a[i], nic(from, a[i]), node_to, a[k], nic(from, a[k])),
                         way(node_from, b[i], nic(to, b[i]), node_to, b[k], nic(to, b[k])));
      };
      for (std::size_t i = 0; i + 1 < a.size(); ++i)
        if (!add(0, i, 0, i + 1) || !add(0, i + 1, 0, i)) return false;
      if (members_.node_count() == 1) continue;
      for (const int port : child_ports(run_.graph.pattern, run_.graph.gpus())) {
        const auto parent = static_cast<std::size_t>(port);
        if (!add(0, 0, 1, parent) || !add(0, parent, 1, 0)) return false;
      }
    }
    return true;
  }

  /// From a local rank and NIC of one of two nodes to those of another.
  Transport way(int node_from, int from, int nic_from, int node_to, int to, int nic_to) const {
    const auto end = [&](int node, int local, int nic) {
      return Endpoint{members_.nodes()[static_cast<std::size_t>(node)],
                      members_.gpus()[static_cast<std::size_t>(local)], nic};
    };
    return plan_transport(cluster_, members_.gpus(), run_.protocol, end(node_from, from, nic_from),
                          end(node_to, to, nic_to), run_.transport);
  }

  bool moves_way(Move& move, Map& back, const Transport& a, const Transport& b) const {
    const auto local = [&](int gpu) {
      return static_cast<int>(std::ranges::find(members_.gpus(), gpu) - members_.gpus().begin());
    };
    if (a.kind != b.kind || a.sender_flag != b.sender_flag || a.receiver_flag != b.receiver_flag)
      return false;
    if (a.kind == HopKind::net && move.gpus.at(local(a.proxy_gpu)) != local(b.proxy_gpu))
      return false;
    const auto moves = [&](const std::vector<LinkId>& from, const std::vector<LinkId>& to) {
      if (from.size() != to.size()) return false;
      for (std::size_t i = 0; i < from.size(); ++i) {
        const ClusterLink x = cluster_.link(from[i]), y = cluster_.link(to[i]);
        if (x.rate != y.rate || x.latency != y.latency || rails_compete(from[i])) return false;
        const std::optional<int> p = part(from[i]), q = part(to[i]);
        if (p.has_value() != q.has_value() || (p && !put(move.links, back, *p, *q))) return false;
      }
      return true;
    };
    return moves(a.into_slots, b.into_slots) && moves(a.network, b.network);
  }

  /// Pools between spines and cores are those of all rails: they may wait for each other there.
  bool rails_compete(LinkId link) const {
    if (!cluster_.is_fabric_link(link) || !cluster_.is_pool(link)) return false;
    const SwitchTier from = cluster_.link_from(link).which.tier;
    const bool by_core =
        from == SwitchTier::core || cluster_.link_to(link).which.tier == SwitchTier::core;
    return by_core && cluster_.fabric().core_oversubscription > 1;
  }

  /// What a link is in any node: its number there, or beyond, up and down, its NIC's rail. Nothing
  /// for those between switches.
  std::optional<int> part(LinkId link) const {
    const auto links = static_cast<int>(cluster_.node().links().size());
    if (!cluster_.is_fabric_link(link))
      return static_cast<int>(index_of(link)) - cluster_.first_node_of(link) * links;
    const Cluster::FabricEnd from = cluster_.link_from(link), to = cluster_.link_to(link);
    if (from.is_switch && to.is_switch) return std::nullopt;
    if (from.is_switch) return links + 2 * static_cast<int>(to.rail) + 1;
    return links + 2 * static_cast<int>(from.rail);
  }

  /// Cycles of lanes; none when parts of one differ.
  std::vector<std::vector<std::uint32_t>> classes_of(const Move& move) const {
    const std::vector<ChannelPart>& parts = partition_.parts;
    const int searched = run_.graph.channel_count();
    std::vector<std::vector<std::uint32_t>> out;
    std::vector<bool> seen(parts.size());
    for (std::uint32_t first = 0; first < parts.size(); ++first) {
      if (seen[first]) continue;
      out.emplace_back();
      for (std::uint32_t lane = first; !seen[lane];) {
        seen[lane] = true;
        out.back().push_back(lane);
        const int number = parts[lane].channel;
        const int next = number / searched * searched + move.channels.at(number % searched);
        const auto at = std::ranges::find(parts, next, &ChannelPart::channel);
        if (at == parts.end() || at->count_elements != parts[lane].count_elements ||
            at->chunk_elements != parts[lane].chunk_elements)
          return {};
        lane = static_cast<std::uint32_t>(at - parts.begin());
      }
    }
    return out;
  }

  void fill(Rails& out, const Move& move) const {
    for (int local = 0; local < members_.gpus_per_node(); ++local)
      out.gpu.push_back(least_of_cycle(move.gpus, local));
    const auto links = static_cast<std::uint32_t>(cluster_.node().links().size());
    const auto rails = static_cast<std::uint32_t>(cluster_.node().nics().size());
    for (std::uint32_t i = 0; i < links; ++i) out.link.push_back(i);
    for (std::uint32_t i = 0; i < rails; ++i) out.rail.push_back(i);
    for (const auto& [from, to] : move.links) {
      const auto least = static_cast<std::uint32_t>(least_of_cycle(move.links, from));
      const auto at = static_cast<std::uint32_t>(from);
      if (at < links) {
        out.link[at] = least;
      } else {
        out.rail[(at - links) / 2] = (least - links) / 2;
      }
    }
  }

  const Cluster& cluster_;
  const CollectiveRun& run_;
  const Members& members_;
  const Partition& partition_;
};

}  // namespace

LinkId Rails::representative(const Cluster& cluster, LinkId id) const {
  if (copies == 1) return id;
  if (!cluster.is_fabric_link(id)) {
    const auto links = static_cast<std::uint32_t>(cluster.node().links().size());
    const std::uint32_t local = index_of(id) % links;
    return LinkId{index_of(id) - local + link[local]};
  }
  const Cluster::FabricEnd from = cluster.link_from(id), to = cluster.link_to(id);
  if (!from.is_switch) return LinkId{index_of(id) - from.rail + rail[from.rail]};
  if (!to.is_switch) return LinkId{index_of(id) - to.rail + rail[to.rail]};
  const FabricSwitch& leaf = from.which.tier == SwitchTier::leaf ? from.which : to.which;
  const std::uint32_t plane = leaf.index / static_cast<std::uint32_t>(cluster.leaves_per_plane());
  return cluster.moved_back(id, static_cast<int>(plane - rail[plane]) * cluster.leaves_per_plane() *
                                    cluster.nodes_per_leaf());
}

std::string odd_part(const Cluster& cluster, const CollectiveRun& run) {
  if (!run.faults.gpus.empty()) return "a GPU is slow";
  if (!run.faults.outages.empty()) return "a link goes down";
  if (cluster.has_own_rates()) return "a link has a rate of its own";
  return "";
}

Rails unfolded_rails(const Partition& partition) {
  Rails out;
  for (std::uint32_t lane = 0; lane < partition.parts.size(); ++lane) out.lanes.push_back({lane});
  return out;
}

Rails find_rails(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                 const Partition& partition) {
  return RailFinder(cluster, run, members, partition).find();
}

}  // namespace fabricast
