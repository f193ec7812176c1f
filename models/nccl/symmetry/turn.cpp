// Moves from rail to rail, inside nodes.

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/sendrecv/p2p_rounds.hpp"
#include "models/nccl/symmetry/move_check.hpp"
#include "models/nccl/symmetry/move_finders.hpp"
#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

using Map = std::map<int, int>;

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

/// Where local ranks, NICs and channels of the graph go.
struct Turn {
  Map gpus, gpus_back, nics, nics_back, channels;
};

class TurnFinder {
 public:
  TurnFinder(const Cluster& cluster, const CollectiveRun& run, const Members& members,
             const Partition& partition)
      : cluster_(cluster),
        run_(run),
        members_(members),
        partition_(partition),
        planner_(cluster, members.gpus(), run.transport) {}

  FoundMove find() const {
    const std::string odd = odd_part(cluster_, run_);
    const bool may_be_alike = !is_tuned(run_.collective) && run_.faults.outages.empty();
    if (!odd.empty() && !may_be_alike) return none(odd);
    if (!has_equal_planes()) return none("ways of rails cross the fabric differently");
    if (!is_tuned(run_.collective)) return find_senders();
    if (run_.algorithm != Algorithm::tree) return find_heads();
    FoundMove best = none("rails are unlike");
    for (int target = 1; target < run_.graph.channel_count() && !is_whole(best); ++target)
      take_better(best, of_channels(target, best.move.copies));
    return best;
  }

 private:
  FoundMove none(std::string why) const {
    FoundMove out{{}, std::move(why)};
    out.move.nodes = members_.node_count();
    out.move.gpus = members_.gpus_per_node();
    return out;
  }
  static void take_better(FoundMove& best, std::optional<Move> move) {
    if (move && move->copies > best.move.copies) best = {std::move(*move), ""};
  }

  /// All GPUs of a node are alike by it.
  bool is_whole(const FoundMove& found) const {
    return found.move.copies == members_.gpus_per_node();
  }

  /// Planes of a rail-optimised fabric of two tiers are alike; below one leaf there is nothing.
  bool has_equal_planes() const {
    if (members_.node_count() == 1) return true;
    const bool rails = cluster_.fabric().kind == FabricConfig::Kind::rail_optimised;
    const auto leaf = [this](int node) { return cluster_.leaf_number(node); };
    const auto [first, last] = std::ranges::minmax(members_.nodes());
    if (!rails && leaf(first) == leaf(last)) return true;
    return rails && cluster_.has_two_tiers();
  }

  /// The channels of NVLS stay, and its heads move.
  FoundMove find_heads() const {
    const std::vector<int> heads = distinct_heads(run_.graph);
    if (std::ssize(heads) != members_.gpus_per_node()) return none("not every GPU is a head");
    if (!has_equal_chunks()) return none("the last chunks of heads differ in size");
    FoundMove best = none("rails are unlike");
    for (std::size_t by = 1; by < heads.size() && !is_whole(best); ++by)
      take_better(best, of_heads(heads, by));
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
  std::optional<Move> of_heads(const std::vector<int>& heads, std::size_t by) const {
    Turn turn;
    for (std::size_t i = 0; i < heads.size(); ++i)
      turn.gpus[heads[i]] = heads[(i + by) % heads.size()];
    MoveCheck check = check_of(turn);
    if (!takes_switch_links(turn, check)) return std::nullopt;
    for (const ChannelPart& part : partition_.parts) {
      if (members_.node_count() == 1) break;
      for (const auto& [from, to] : turn.gpus) {
        const int a = nic_of_head(run_.graph, from, part.channel),
                  b = nic_of_head(run_.graph, to, part.channel);
        if (turn.nics.contains(a) && turn.nics.at(a) == b) continue;  // looked at already
        if (!put(turn.nics, turn.nics_back, a, b)) return std::nullopt;
        for (const int node : {0, 1})
          if (!check.takes(way(node, from, a, 1 - node, from, a),
                           way(node, to, b, 1 - node, to, b)))
            return std::nullopt;
      }
    }
    return move_of(turn, check, {});
  }

  /// Of all GPUs, which every head uses.
  bool takes_switch_links(const Turn& turn, MoveCheck& check) const {
    const NodeGraph& node = cluster_.node();
    const auto vertex = [&](int local) {
      const auto gpu = static_cast<std::size_t>(members_.gpus()[static_cast<std::size_t>(local)]);
      return node.gpus()[gpu].vertex;
    };
    return std::ranges::all_of(turn.gpus, [&](const auto& moved) {
      const auto [from, to] = moved;
      const auto a = node.nvlink_route(vertex(from), vertex(to)),
                 b = node.nvlink_route(vertex(to), vertex(turn.gpus.at(to)));
      return a.size() == 2 && check.takes(a, b);
    });
  }

  /// Of an all-to-all all ranks do the same to those so many places on: GPUs go round, one place.
  /// More would take messages of a round to others of their kind, and leave them unlike among
  /// themselves: some cross more links than others, so that what two blocks have in the same place
  /// is of two rounds, and of two that meet the move makes another one first.
  FoundMove find_senders() const {
    FoundMove best = none("rails are unlike");
    if (run_.collective == Collective::alltoall && run_.traffic == nullptr && is_sent_by_rail())
      take_better(best, of_senders());
    return best;
  }

  std::optional<Move> of_senders() const {
    Turn turn;
    const int gpus = members_.gpus_per_node();
    for (int local = 0; local < gpus; ++local) turn.gpus[local] = (local + 1) % gpus;
    if (!keeps_rounds(turn)) return std::nullopt;
    MoveCheck check = check_of(turn);
    for (const auto& [from, image_from] : turn.gpus)
      for (const auto& [to, image_to] : turn.gpus)
        if (!takes_messages(check, {from, to}, {image_from, image_to})) return std::nullopt;
    std::optional<Move> out = move_of(turn, check, {});
    return out && has_equal_odd_parts(*out) ? out : std::nullopt;
  }

  /// Whoever sends to whom in a round, their images do so in the same, over the same channels.
  bool keeps_rounds(const Turn& turn) const {
    const int gpus = members_.gpus_per_node();
    const P2pRounds rounds(run_.version, members_.node_count(), gpus, run_.p2p.group_size);
    const auto moved = [&](int rank) { return rank / gpus * gpus + turn.gpus.at(rank % gpus); };
    for (int round = 0; round < rounds.count(); ++round) {
      for (int rank = 0; rank < gpus; ++rank) {
        const int to = rounds.send_peer(rank, round), image = rounds.send_peer(moved(rank), round);
        if ((to == kNoPeer) != (image == kNoPeer)) return false;
        if (to != kNoPeer && (moved(to) != image || rounds.base(round, rank, to) !=
                                                        rounds.base(round, moved(rank), image)))
          return false;
      }
    }
    return true;
  }

  /// Whether who sends follows from the receiver. Else several rails would send to one, and which
  /// of them is first would follow from their numbers.
  bool is_sent_by_rail() const {
    if (members_.node_count() == 1) return true;
    const int gpus = members_.gpus_per_node();
    const P2pNics& nics = run_.p2p.nics;
    for (int to = 0; to < gpus; ++to)
      for (int channel = 0; channel < run_.p2p.rules.channels.channels; ++channel)
        for (int from = 0; from < gpus; ++from)
          if (nics.exit(from, to, channel) != nics.exit(to, to, channel)) return false;
    return true;
  }

  using Pair = std::array<int, 2>;
  /// From one local rank to another, in a node and to the next.
  bool takes_messages(MoveCheck& check, Pair from, Pair to) const {
    if (from[0] != from[1] && !check.takes(message(from), message(to))) return false;
    if (members_.node_count() == 1) return true;
    std::vector<std::array<int, 4>> known;  // NICs, which come again from channel to channel
    for (int channel = 0; channel < run_.p2p.rules.channels.channels; ++channel) {
      const Pair nics = nics_of(from, channel), image = nics_of(to, channel);
      const std::array both = {nics[0], nics[1], image[0], image[1]};
      if (std::ranges::find(known, both) != known.end()) continue;
      known.push_back(both);
      for (const Protocol protocol : {Protocol::simple, Protocol::ll})
        if ((protocol == Protocol::simple || run_.p2p.rules.ll_over_net) &&
            !check.takes(message(from, channel, protocol), message(to, channel, protocol)))
          return false;
    }
    return true;
  }
  Pair nics_of(Pair ends, int channel) const {
    const P2pNics& nics = run_.p2p.nics;
    return {nics.exit(ends[0], ends[1], channel).nic, nics.entry(ends[1], channel)};
  }

  /// In a node.
  Transport message(Pair ends) const {
    const int node = members_.nodes().front(), from = members_.gpu(ends[0]);
    return planner_.plan(Protocol::simple, {node, from}, {node, members_.gpu(ends[1])}, from);
  }
  /// To the next one.
  Transport message(Pair ends, int channel, Protocol protocol) const {
    const Pair nics = nics_of(ends, channel);
    const Endpoint from{members_.nodes()[0], members_.gpu(ends[0]), nics[0]};
    const Endpoint to{members_.nodes()[1], members_.gpu(ends[1]), nics[1]};
    const int relay = members_.gpu(run_.p2p.nics.exit(ends[0], ends[1], channel).proxy_gpu);
    return planner_.plan(protocol, from, to, relay);
  }

  /// Whether what is slow is so on all rails of its node.
  bool has_equal_odd_parts(const Move& move) const {
    for (std::uint32_t id = 0; cluster_.has_own_rates() && id < cluster_.links(); ++id)
      if (cluster_.link(LinkId{id}).rate !=
          cluster_.link(move.representative(cluster_, LinkId{id})).rate)
        return false;
    const std::vector<Faults::SlowGpu>& slow = run_.faults.gpus;
    return std::ranges::all_of(slow, [&](const Faults::SlowGpu& gpu) {
      return speed_of(slow, move.moved({0, gpu.rank}).rank) == gpu.speed;
    });
  }

  const GraphChannel& channel(int number) const {
    return run_.graph.channels[static_cast<std::size_t>(number)];
  }

  /// What the move does that takes the first channel to this one, if more than `least` are alike.
  std::optional<Move> of_channels(int target, int least) const {
    Turn turn;
    if (!takes_channel(turn, 0, target)) return std::nullopt;
    std::vector<bool> taken(static_cast<std::size_t>(run_.graph.channel_count()));
    for (int from = 0; from < run_.graph.channel_count(); ++from) {
      const auto to = image(from, turn, taken);
      if (!to || !takes_channel(turn, from, *to)) return std::nullopt;
      taken[static_cast<std::size_t>(*to)] = true;
      turn.channels[from] = *to;
    }
    const int copies = order(turn.gpus);
    if (copies <= least || order(turn.channels) != copies) return std::nullopt;
    std::vector<std::uint32_t> lanes = lanes_of(turn);
    if (lanes.empty()) return std::nullopt;
    MoveCheck check = check_of(turn);
    if (!takes_ways(turn, check)) return std::nullopt;
    return move_of(turn, check, std::move(lanes));
  }

  bool takes_channel(Turn& turn, int from, int to) const {
    const GraphChannel &a = channel(from), &b = channel(to);
    for (std::size_t i = 0; i < a.gpu_order.size(); ++i)
      if (!put(turn.gpus, turn.gpus_back, a.gpu_order[i], b.gpu_order[i])) return false;
    return members_.node_count() == 1 || (put(turn.nics, turn.nics_back, a.net_in, b.net_in) &&
                                          put(turn.nics, turn.nics_back, a.net_out, b.net_out));
  }

  /// The first free channel whose chain is that of `from`, moved. Equal channels keep their order.
  std::optional<int> image(int from, const Turn& turn, const std::vector<bool>& taken) const {
    for (int to = 0; to < run_.graph.channel_count(); ++to) {
      if (taken[static_cast<std::size_t>(to)]) continue;
      const std::vector<int>&a = channel(from).gpu_order, &b = channel(to).gpu_order;
      if (std::ranges::equal(a, b, {}, [&](int gpu) { return turn.gpus.at(gpu); })) return to;
    }
    return std::nullopt;
  }

  /// All ways that a tree can take, inside a node and between two.
  bool takes_ways(const Turn& turn, MoveCheck& check) const {
    return std::ranges::all_of(turn.channels, [&](const auto& channels) {
      const int from = channels.first, to = channels.second;
      const std::vector<int>&a = channel(from).gpu_order, &b = channel(to).gpu_order;
      const auto takes = [&](int node_from, std::size_t i, int node_to, std::size_t k) {
        const auto nic = [&](int of, int local) { return nic_of(run_.graph, of, local); };
        return check.takes(way(node_from, a[i], nic(from, a[i]), node_to, a[k], nic(from, a[k])),
                           way(node_from, b[i], nic(to, b[i]), node_to, b[k], nic(to, b[k])));
      };
      for (std::size_t i = 0; i + 1 < a.size(); ++i)
        if (!takes(0, i, 0, i + 1) || !takes(0, i + 1, 0, i)) return false;
      if (members_.node_count() == 1) return true;
      return std::ranges::all_of(child_ports(run_.graph.pattern, run_.graph.gpus()), [&](int port) {
        const auto parent = static_cast<std::size_t>(port);
        return takes(0, 0, 1, parent) && takes(0, parent, 1, 0);
      });
    });
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

  /// Where each part of the partition goes; nothing when two that would be alike differ.
  std::vector<std::uint32_t> lanes_of(const Turn& turn) const {
    const std::vector<ChannelPart>& parts = partition_.parts;
    const int searched = run_.graph.channel_count();
    std::vector<std::uint32_t> out;
    for (const ChannelPart& part : parts) {
      const int next =
          part.channel / searched * searched + turn.channels.at(part.channel % searched);
      const auto at = std::ranges::find(parts, next, &ChannelPart::channel);
      if (at == parts.end() || at->count_elements != part.count_elements ||
          at->chunk_elements != part.chunk_elements)
        return {};
      out.push_back(static_cast<std::uint32_t>(at - parts.begin()));
    }
    return out;
  }

  MoveCheck check_of(const Turn& turn) const {
    return {cluster_, {}, [&turn, this](int gpu) {
              const auto at = std::ranges::find(members_.gpus(), gpu) - members_.gpus().begin();
              return members_.gpus()[static_cast<std::size_t>(turn.gpus.at(static_cast<int>(at)))];
            }};
  }

  bool has_equal_gpus(const Turn& turn) const {
    const auto part = [&](int local) -> const GpuPart& {
      const auto gpu = static_cast<std::size_t>(members_.gpus()[static_cast<std::size_t>(local)]);
      return cluster_.node().gpus()[gpu].part;
    };
    return std::ranges::all_of(turn.gpus, [&](const auto& moved) {
      const GpuPart &from = part(moved.first), &to = part(moved.second);
      return from.copy_rate == to.copy_rate && from.sm == to.sm;
    });
  }

  /// Nothing unless all of it is where it was after as many moves, and not before.
  std::optional<Move> move_of(const Turn& turn, const MoveCheck& check,
                              std::vector<std::uint32_t> lanes) const {
    Move out = none("").move;
    out.copies = order(turn.gpus);
    if (out.copies < 2 || order(check.parts()) != out.copies || !has_equal_gpus(turn))
      return std::nullopt;
    for (int local = 0; local < out.gpus; ++local) out.gpu.push_back(turn.gpus.at(local));
    out.lane = std::move(lanes);
    const auto links = static_cast<std::uint32_t>(cluster_.node().links().size());
    out.link.resize(links);
    out.rail.resize(cluster_.node().nics().size());
    std::iota(out.link.begin(), out.link.end(), 0);
    std::iota(out.rail.begin(), out.rail.end(), 0);
    for (const auto& [from, to] : check.parts()) {
      const auto least = static_cast<std::uint32_t>(least_of_cycle(check.parts(), from));
      const auto at = static_cast<std::uint32_t>(from);
      if (at < links) {
        out.link[at] = least;
      } else {
        out.rail[(at - links) / 2] = (least - links) / 2;
      }
    }
    if (!check.agrees(out)) return std::nullopt;
    return out;
  }

  const Cluster& cluster_;
  const CollectiveRun& run_;
  const Members& members_;
  const Partition& partition_;
  MessagePlanner planner_;
};

}  // namespace

FoundMove find_turn(const Cluster& cluster, const CollectiveRun& run, const Members& members,
                    const Partition& partition) {
  return TurnFinder(cluster, run, members, partition).find();
}

}  // namespace fabricast
