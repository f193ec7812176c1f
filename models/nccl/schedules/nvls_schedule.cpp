// NVLS and NVLSTree. Every rank copies its data into a buffer that the switch can read (scatter)
// and out of one that it can write (gather); the head of a chunk has the switch read and add up
// all ranks' buffers (multimem load-reduce) and write the sum to all of them (multimem store).
// Between nodes, heads of the same number form a double binary tree (NVLSTree), or SHARP adds up
// what they have (NVLS).
// Facts: src/device/all_reduce.h and siblings, src/transport/nvls.cc, NCCL 2.21 to 2.30.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/nccl/schedules/collnet_wiring.hpp"
#include "models/nccl/wiring/nvls_links.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// Each role's threads of a block's 20 warps: reduce 5, bcast 4; with SHARP 3 and 2
/// (src/device/all_reduce.h). Scatter and gather copy at a rate of their own (NvlsRates). Of users'
/// buffers they have a warp each and copy nothing.
struct Shares {
  double reduce = 0, bcast = 0;
};
constexpr Shares kTreeShares{5.0 / 20, 4.0 / 20}, kSharpShares{3.0 / 20, 2.0 / 20},
    kInPlaceShares{10.0 / 20, 8.0 / 20};

/// A worker has 32 connections each way, and a head two for its children beside those to the ranks
/// of its node. Of more ranks, so many at a time meet in a junction first, which takes no time.
constexpr std::uint32_t kRanksMet = 29;

class NvlsSchedule {
 public:
  explicit NvlsSchedule(Assembly& assembly)
      : assembly_(assembly),
        heads_in_all_(static_cast<std::uint32_t>(distinct_heads(assembly.run().graph).size())),
        reduce_classes_(assembly.worker_classes(shares().reduce)),
        bcast_classes_(assembly.worker_classes(shares().bcast)),
        copy_classes_(assembly.worker_classes(copy_rates())),
        programs_(assembly, heads_in_all_),
        all_(assembly, BlockMap<NodeWorkers>::Per::node) {
    const std::vector<int> all = distinct_heads(assembly.run().graph);
    for (std::uint32_t number = 0; number < heads_in_all_; ++number)
      if (assembly.is_own({assembly.lanes().front(), all[number]}))
        heads_.push_back({all[number], number});
    if (is_sharp()) sharp_.emplace(assembly, programs_);
    assembly.machine().set_multimem(multimem_wire(assembly.cluster().node()));
    for (const int gpu : assembly.members().gpus()) {
      to_switch_.push_back(switch_links(gpu).front());
      from_switch_.push_back(switch_links(gpu).back());
    }
  }

  void add() {
    const auto each_place = [&](auto visit) {
      for (const std::uint32_t lane : assembly_.lanes())
        assembly_.each_node([&](int node) { visit(lane, node); });
    };
    // What acts at the same time, one place of all nodes, stands in a row.
    each_place([&](std::uint32_t lane, int node) {
      for (std::uint32_t group = 0; group < groups(); ++group)
        add_group(at(lane, node), lane, node, group);
    });
    for (std::uint32_t head = 0; head < heads(); ++head)
      each_place([&](std::uint32_t lane, int node) { add_head(at(lane, node), lane, node, head); });
    each_place([&](std::uint32_t lane, int node) { connect_node(at(lane, node), node); });
    for (std::uint32_t head = 0; head < heads(); ++head) {
      if (is_sharp()) {
        for (const std::uint32_t lane : assembly_.lanes()) connect_sharp(lane, head);
      } else if (nodes() > 1) {
        each_place([&](std::uint32_t lane, int node) { connect_children(lane, node, head); });
      }
    }
  }

 private:
  using Path = std::vector<std::uint32_t>;

  /// A GPU that owns a part of every message.
  struct Head {
    int local;             ///< rank
    std::uint32_t number;  ///< among all heads
  };
  /// The workers of one channel on one node.
  struct NodeWorkers {
    /// By group of ranks, those that copy: one for all that do the same at the same time, as they
    /// are joined to the same heads in the same way, or one for each rank.
    std::vector<std::vector<std::uint32_t>> scatter, gather;
    std::vector<std::uint32_t> copiers;  ///< by group: how many
    /// By head that is no copy; bcast: the root's is its reduce.
    std::vector<std::uint32_t> reduce, bcast, fan;
    /// By head, of each group of ranks, where there are several groups.
    std::vector<std::vector<std::uint32_t>> met, spread;
  };

  const CollectiveRun& run() const { return assembly_.run(); }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(assembly_.gpus()); }
  std::uint32_t heads() const { return static_cast<std::uint32_t>(heads_.size()); }
  int nodes() const { return assembly_.nodes(); }
  bool is_sharp() const { return run().algorithm == Algorithm::nvls && nodes() > 1; }
  Shares shares() const {
    if (assembly_.software().in_place) return kInPlaceShares;
    return is_sharp() ? kSharpShares : kTreeShares;
  }
  NvlsRates rates(int gpu) const {
    const NodeGraph& node = assembly_.cluster().node();
    return nvls_rates(node.gpus()[static_cast<std::size_t>(gpu)].part, assembly_.software());
  }
  /// Of scatter and of gather, for the chunk of one head, by local rank.
  std::vector<Bandwidth> copy_rates() const {
    const SoftwareCosts& software = assembly_.software();
    const double share =
        run().algorithm == Algorithm::nvls_tree ? software.nvls_tree_copy_share : 1;
    std::vector<Bandwidth> out;
    for (const int gpu : assembly_.members().gpus()) {
      const auto rate = static_cast<double>(rates(gpu).copy_rate.bytes_per_s);
      out.push_back({std::llround(rate * share / static_cast<double>(heads_in_all_))});
    }
    return out;
  }
  /// Of scatter and of gather; of the slowest GPU, whom the others wait for.
  Duration copy_overhead() const {
    Duration most;
    for (const int gpu : assembly_.members().gpus()) most = std::max(most, rates(gpu).overhead);
    return most;
  }
  /// Ranks of a node that stand together, and what the head is connected to in their place.
  std::uint32_t groups() const { return (gpus() + kRanksMet - 1) / kRanksMet; }
  std::uint32_t group_begin(std::uint32_t group) const { return gpus() * group / groups(); }
  std::uint32_t group_size(std::uint32_t group) const {
    return group_begin(group + 1) - group_begin(group);
  }
  std::uint32_t peers(const NodeWorkers& workers) const {
    return groups() == 1 ? workers.copiers.front() : groups();
  }
  bool reduces() const { return run().collective != Collective::all_gather; }
  bool gathers() const { return run().collective != Collective::reduce_scatter; }

  /// A GPU's links to and from the NVSwitches: the way to its neighbour and the way back.
  std::array<LinkId, 2> switch_links(int gpu) const {
    const NodeGraph& node = assembly_.cluster().node();
    const int other = gpu == 0 ? 1 : 0;
    const VertexId a = node.gpus()[static_cast<std::size_t>(gpu)].vertex;
    const VertexId b = node.gpus()[static_cast<std::size_t>(other)].vertex;
    const std::vector<LinkId> there = node.nvlink_route(a, b), back = node.nvlink_route(b, a);
    if (there.size() != 2 || back.size() != 2)
      throw Error(fmt::format("{}: NVLS needs an NVSwitch between all GPUs", node.name()));
    return {there.front(), back.back()};
  }

  /// One step as wide as a node. `links`: of a host, which may be several nodes to NCCL.
  void append_all(Path& path, int node, const std::vector<LinkId>& links) const {
    for (int local = 0; local < assembly_.gpus(); ++local) {
      append_one(path, node, links, local);
      if (local > 0) path.back() |= kBeside;
    }
  }
  void append_one(Path& path, int node, const std::vector<LinkId>& links, int local) const {
    const auto rank = static_cast<std::size_t>(node * assembly_.gpus() + local);
    const int host = assembly_.members().node(static_cast<int>(rank));
    path.push_back(assembly_.link(assembly_.cluster().global(host, links[rank % links.size()])) |
                   kMultimem);
  }
  /// multimem load-reduce: every rank's memory to the switch, the sum to the head.
  Path load_reduce(int node, std::uint32_t head) const {
    Path path;
    append_all(path, node, to_switch_);
    append_one(path, node, from_switch_, heads_[head].local);
    return path;
  }
  /// multimem store: the head to the switch, the switch to every rank's memory.
  void append_store(Path& path, int node, std::uint32_t head) const {
    append_one(path, node, to_switch_, heads_[head].local);
    append_all(path, node, from_switch_);
  }

  NvlsLinks links(std::uint32_t lane, int rank) const {
    const int channel = assembly_.partition().parts[lane].channel;
    return nvls_links(run().graph, nodes(), assembly_.gpus(), channel, rank);
  }
  int rank_of(int node, std::uint32_t head) const {
    return node * assembly_.gpus() + heads_[head].local;
  }

  NodeWorkers& at(std::uint32_t lane, int node) { return all_({lane, node * assembly_.gpus()}); }

  void add_group(NodeWorkers& out, std::uint32_t lane, int node, std::uint32_t group) {
    out.scatter.emplace_back();
    out.gather.emplace_back();
    std::vector<int> copiers;
    for (std::uint32_t i = 0; i < group_size(group); ++i) {
      const int local = static_cast<int>(group_begin(group) + i);
      const int rank = node * assembly_.gpus() + local;
      if (!assembly_.is_own({lane, rank})) continue;
      const auto like = static_cast<std::size_t>(
          std::ranges::find_if(copiers, [&](int other) { return assembly_.merges(other, rank); }) -
          copiers.begin());
      if (reduces()) add_copier(out.scatter.back(), like, lane, 0, heads(), rank);
      if (gathers()) add_copier(out.gather.back(), like, lane, heads(), 0, rank);
      if (like == copiers.size()) copiers.push_back(rank);
    }
    out.copiers.push_back(static_cast<std::uint32_t>(copiers.size()));
  }

  /// The rank's, which may be there already.
  void add_copier(std::vector<std::uint32_t>& workers, std::size_t like, std::uint32_t lane,
                  std::uint32_t inputs, std::uint32_t outputs, int rank) {
    constexpr HeadShare all = HeadShare::all_chunks;
    if (like < workers.size()) {
      assembly_.add_rank(workers[like], rank, programs_.get(all, inputs, outputs).slices(lane));
    } else {
      workers.push_back(programs_.add_worker(copy_classes_, all, inputs, outputs, {lane, 0}, rank));
    }
  }

  void add_head(NodeWorkers& out, std::uint32_t lane, int node, std::uint32_t head) {
    if (is_sharp()) {
      add_sharp_head(out, lane, node, head);
    } else {
      add_tree_head(out, lane, node, head);
    }
    const Role role{lane, heads_[head].number};
    if (!is_sharp() || gathers())
      out.fan.push_back(
          programs_.add_junction(HeadShare::one_chunk, 1, gathers() ? peers(out) : 0, role));
    // Sums come from the switch.
    if (!is_sharp() && !gathers()) assembly_.ends_with(rank_of(node, head), out.fan.back());
    if (groups() == 1) return;
    out.met.emplace_back();
    out.spread.emplace_back();
    for (std::uint32_t group = 0; group < groups(); ++group) {
      const std::uint32_t ranks = out.copiers[group];
      if (reduces())
        out.met.back().push_back(programs_.add_junction(HeadShare::one_chunk, ranks, 1, role));
      if (gathers())
        out.spread.back().push_back(programs_.add_junction(HeadShare::one_chunk, 1, ranks, role));
    }
  }

  void add_tree_head(NodeWorkers& out, std::uint32_t lane, int node, std::uint32_t head) {
    const int rank = rank_of(node, head);
    const Role role{lane, heads_[head].number};
    std::uint32_t children = 0;
    bool root = true;
    if (nodes() > 1) {
      const NvlsLinks tree = links(lane, rank);
      root = tree.up < 0;
      children = static_cast<std::uint32_t>(
          std::count_if(tree.down.begin() + 1, tree.down.end(), [](int c) { return c >= 0; }));
    }
    const std::uint32_t inputs = (reduces() ? peers(out) : 0) + children;
    const std::uint32_t outputs = root ? 1 + children : 1;
    out.reduce.push_back(
        programs_.add_worker(reduce_classes_, HeadShare::one_chunk, inputs, outputs, role, rank));
    out.bcast.push_back(root ? out.reduce.back()
                             : programs_.add_worker(bcast_classes_, HeadShare::one_chunk, 1,
                                                    1 + children, role, rank));
  }

  /// One worker into the network and one out of it. What only its own rank has or gets is the
  /// node's share.
  void add_sharp_head(NodeWorkers& out, std::uint32_t lane, int node, std::uint32_t head) {
    const int rank = rank_of(node, head);
    const Role role{lane, heads_[head].number}, share{lane, static_cast<std::uint32_t>(node)};
    out.reduce.push_back(
        reduces()
            ? programs_.add_worker(reduce_classes_, HeadShare::one_chunk, peers(out), 1, role, rank)
            : programs_.add_worker(reduce_classes_, HeadShare::of_node, 0, 1, share, rank));
    out.bcast.push_back(
        gathers() ? programs_.add_worker(bcast_classes_, HeadShare::one_chunk, 1, 1, role, rank)
                  : programs_.add_worker(bcast_classes_, HeadShare::of_node, 1, 0, share, rank));
  }

  /// Eight chunks between two workers of a node, over `path`.
  void connect_local(std::uint32_t from, std::uint32_t to, const Path& path, std::uint32_t slots,
                     Duration overhead, Duration sync) {
    ConnectionSpec spec;
    spec.from = from;
    spec.to = to;
    spec.slots = slots;
    spec.shares = assembly_.shares();
    spec.copies = assembly_.copies(from);
    spec.path = path;
    spec.overhead = assembly_.fixed_cost(from, overhead);
    spec.sync = sync;
    spec.credit = assembly_.costs().sync[static_cast<std::size_t>(HopKind::nvlink)];
    assembly_.machine().connect(spec);
  }

  void connect_node(const NodeWorkers& workers, int node) {
    const auto nvlink = static_cast<std::size_t>(HopKind::nvlink);
    // Warps of a block only send, or only receive.
    const Duration overhead = assembly_.costs().overhead_of_end(HopKind::nvlink),
                   sync = assembly_.costs().sync[nvlink], copying = copy_overhead();
    for (std::uint32_t head = 0; head < heads(); ++head) {
      if (reduces()) connect_scatter(workers, head, copying, sync);
      if (workers.fan.empty()) continue;
      // One of the eight slots is the fan's; the gatherers' fixed cost is a latency here, as what
      // they receive from is no thread.
      Path path;
      if (reduces() && workers.bcast[head] == workers.reduce[head]) path = load_reduce(node, head);
      if (gathers()) append_store(path, node, head);
      connect_local(workers.bcast[head], workers.fan[head], path, kConnectionSlots - 1, overhead,
                    gathers() ? sync + copying : sync);
      if (gathers()) connect_gather(workers, head);
    }
  }

  /// A junction costs nothing: no overhead, sync or credit delay.
  void connect_junction(std::uint32_t from, std::uint32_t to) {
    ConnectionSpec spec;
    spec.from = from;
    spec.to = to;
    spec.slots = 1;
    assembly_.machine().connect(spec);
  }

  /// The junction has one of the eight slots, if there is one.
  void connect_scatter(const NodeWorkers& workers, std::uint32_t head, Duration overhead,
                       Duration sync) {
    if (groups() == 1) {
      for (const std::uint32_t scatter : workers.scatter.front())
        connect_local(scatter, workers.reduce[head], {}, kConnectionSlots, overhead, sync);
      return;
    }
    for (std::uint32_t group = 0; group < groups(); ++group) {
      const std::uint32_t met = workers.met[head][group];
      for (const std::uint32_t scatter : workers.scatter[group])
        connect_local(scatter, met, {}, kConnectionSlots - 1, overhead, sync);
      connect_junction(met, workers.reduce[head]);
    }
  }

  void connect_gather(const NodeWorkers& workers, std::uint32_t head) {
    if (groups() == 1) {
      for (const std::uint32_t gather : workers.gather.front())
        connect_local(workers.fan[head], gather, {}, 1, {}, {});
      return;
    }
    for (std::uint32_t group = 0; group < groups(); ++group) {
      const std::uint32_t spread = workers.spread[head][group];
      connect_junction(workers.fan[head], spread);
      for (const std::uint32_t gather : workers.gather[group])
        connect_local(spread, gather, {}, 1, {}, {});
    }
  }

  void connect_children(std::uint32_t lane, int node, std::uint32_t head) {
    const std::uint64_t slices = programs_.get(HeadShare::one_chunk, 1, 1).slices(lane);
    const NvlsLinks tree = links(lane, rank_of(node, head));
    const Endpoint here = endpoint(lane, node, head);
    const NodeWorkers& mine = at(lane, node);
    for (std::size_t i = 1; i < tree.down.size(); ++i) {
      if (tree.down[i] < 0) continue;
      const int child = tree.down[i] / assembly_.gpus();
      const Endpoint there = endpoint(lane, child, head);
      const NodeWorkers& its = at(lane, child);
      assembly_.connect(its.reduce[head], mine.reduce[head], there, here, slices,
                        load_reduce(child, head));
      assembly_.connect(mine.bcast[head], its.bcast[head], here, there, slices);
    }
  }

  void connect_sharp(std::uint32_t lane, std::uint32_t head) {
    std::vector<CollnetEnd> ends;
    assembly_.each_node([&](int node) {
      const NodeWorkers& workers = at(lane, node);
      ends.push_back({workers.reduce[head], workers.bcast[head], endpoint(lane, node, head),
                      reduces() ? load_reduce(node, head) : Path{}});
    });
    sharp_->connect({lane, heads_[head].number}, ends);
  }

  Endpoint endpoint(std::uint32_t lane, int node, std::uint32_t head) const {
    const int channel = assembly_.partition().parts[lane].channel;
    return assembly_.endpoint(rank_of(node, head),
                              nic_of_head(run().graph, heads_[head].local, channel));
  }

  Assembly& assembly_;
  std::uint32_t heads_in_all_;
  std::vector<Head> heads_;  ///< that are not copies of others
  std::vector<std::uint32_t> reduce_classes_, bcast_classes_, copy_classes_;
  std::vector<LinkId> to_switch_, from_switch_;  ///< of a host, by place of the GPU
  HeadPrograms programs_;
  BlockMap<NodeWorkers> all_;
  std::optional<CollnetWiring> sharp_;  ///< NVLS over several nodes
};

}  // namespace

void add_nvls(Assembly& assembly) {
  constexpr int most = kRanksMet * kRanksMet;
  if (assembly.gpus() > most)
    throw Error(fmt::format("NVLS over {} GPUs of one node is not executed yet, {} at most",
                            assembly.gpus(), most));
  NvlsSchedule(assembly).add();
}

}  // namespace fabricast
