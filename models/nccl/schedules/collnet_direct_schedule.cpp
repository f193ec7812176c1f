// CollNetDirect: every head of a node gathers its chunk from all local ranks over NVLink, adds it
// up and gives it to CollNet; what comes back it hands out again. all_gather and reduce_scatter,
// where every rank is a head, have half of that. Facts: src/device/{all_reduce,all_gather,
// reduce_scatter}.h, NCCL 2.21 to 2.30.

#include <algorithm>

#include "models/nccl/schedules/collnet_wiring.hpp"
#include "models/nccl/wiring/nvls_links.hpp"

namespace fabricast {
namespace {

/// Shares of a block's 640 threads. A rank that is a head of several; one that is none; a head
/// alone. all_gather and reduce_scatter split 20 warps 1 : 2 : 2.
struct BlockShares {
  double scatter = 0, reduce = 0, bcast = 0, gather = 0;
};
constexpr BlockShares kHead{128 / 640.0, 288 / 640.0, 128 / 640.0, 96 / 640.0};
constexpr BlockShares kNoHead{320 / 640.0, 0, 0, 192 / 640.0};
constexpr BlockShares kAlone{0, 384 / 640.0, 224 / 640.0, 0};
constexpr BlockShares kGather{0, 4 / 20.0, 8 / 20.0, 8 / 20.0};
constexpr BlockShares kReduceScatter{8 / 20.0, 8 / 20.0, 4 / 20.0, 0};

class DirectSchedule {
 public:
  explicit DirectSchedule(Assembly& assembly)
      : assembly_(assembly),
        heads_(distinct_heads(assembly.run().graph)),
        programs_(assembly, static_cast<std::uint32_t>(heads_.size())),
        network_(assembly, programs_),
        chunks_(run().collective, static_cast<std::uint32_t>(heads_.size()), assembly.nodes(),
                assembly.partition()),
        scatters_(turns(HeadTurnsProgram::Direction::sends)),
        gathers_(turns(HeadTurnsProgram::Direction::receives)),
        head_(classes(head_shares())),
        no_head_(classes(kNoHead)) {}

  void add() {
    for (const std::uint32_t lane : assembly_.lanes()) add_lane(lane);
  }

 private:
  struct Classes {
    std::vector<std::uint32_t> scatter, reduce, bcast, gather;
  };
  /// The workers of one channel on one node; scatter and gather by local rank, the others by head.
  struct NodeWorkers {
    std::vector<std::uint32_t> scatter, gather, reduce, bcast;
  };

  const CollectiveRun& run() const { return assembly_.run(); }
  std::uint32_t others() const { return static_cast<std::uint32_t>(assembly_.gpus() - 1); }
  bool adds_up() const { return run().collective != Collective::all_gather; }
  bool hands_out() const { return run().collective != Collective::reduce_scatter; }

  const HeadTurnsProgram& turns(HeadTurnsProgram::Direction direction) {
    return assembly_.keep(std::make_unique<HeadTurnsProgram>(chunks_, direction));
  }
  BlockShares head_shares() const {
    if (run().collective == Collective::all_gather) return kGather;
    if (run().collective == Collective::reduce_scatter) return kReduceScatter;
    return assembly_.gpus() == 1 ? kAlone : kHead;
  }
  /// A role that has no threads has no workers.
  Classes classes(const BlockShares& threads) {
    // Half of a block copies at tree_copy_share of its rate.
    const double faster = 2 * assembly_.software().tree_copy_share;
    const auto of = [&](double share) {
      return assembly_.worker_classes(std::min(1.0, faster * share));
    };
    return {of(threads.scatter), of(threads.reduce), of(threads.bcast), of(threads.gather)};
  }

  Endpoint end(int node, int gpu, int nic) const {
    return assembly_.endpoint(node * assembly_.gpus() + gpu, nic);
  }
  int head_number(int gpu) const {
    const auto found = std::ranges::find(heads_, gpu);
    return found == heads_.end() ? -1 : static_cast<int>(found - heads_.begin());
  }
  /// Whether the rank has anything to do with heads other than itself.
  bool has_peers(int gpu) const { return heads_.size() > (head_number(gpu) < 0 ? 0u : 1u); }

  void add_lane(std::uint32_t lane) {
    std::vector<NodeWorkers> all;
    assembly_.each_node([&](int node) {
      all.push_back(add_node(lane, node));
      connect_node(all.back(), node);
    });
    for (std::uint32_t head = 0; head < heads_.size(); ++head) {
      std::vector<CollnetEnd> ends;
      assembly_.each_node([&](int node) {
        const NodeWorkers& workers = all[static_cast<std::size_t>(node)];
        const int channel = assembly_.partition().parts[lane].channel;
        const Endpoint at =
            end(node, heads_[head], nic_of_head(run().graph, heads_[head], channel));
        ends.push_back({workers.reduce[head], workers.bcast[head], at, {}});
      });
      network_.connect({lane, head}, ends);
    }
  }

  NodeWorkers add_node(std::uint32_t lane, int node) {
    NodeWorkers out;
    for (int gpu = 0; gpu < assembly_.gpus(); ++gpu) {
      const int rank = node * assembly_.gpus() + gpu;
      const Classes& classes = head_number(gpu) < 0 ? no_head_ : head_;
      const Role role =
          HeadTurnsProgram::role(lane, head_number(gpu), gpu % static_cast<int>(heads_.size()));
      const auto add = [&](const std::vector<std::uint32_t>& of, const HeadTurnsProgram& runs) {
        return assembly_.add_worker(of, runs, role, rank, runs.slices(role));
      };
      const bool meets = has_peers(gpu);
      out.scatter.push_back(meets && adds_up() ? add(classes.scatter, scatters_) : 0);
      out.gather.push_back(meets && hands_out() ? add(classes.gather, gathers_) : 0);
    }
    for (std::uint32_t head = 0; head < heads_.size(); ++head) add_head(out, lane, node, head);
    return out;
  }

  void add_head(NodeWorkers& out, std::uint32_t lane, int node, std::uint32_t head) {
    const int rank = node * assembly_.gpus() + heads_[head];
    const Role role{lane, head}, share{lane, static_cast<std::uint32_t>(node)};
    const HeadShare one = HeadShare::one_chunk, of_node = HeadShare::of_node;
    out.reduce.push_back(adds_up()
                             ? programs_.add_worker(head_.reduce, one, others(), 1, role, rank)
                             : programs_.add_worker(head_.reduce, of_node, 0, 1, share, rank));
    out.bcast.push_back(hands_out()
                            ? programs_.add_worker(head_.bcast, one, 1, others(), role, rank)
                            : programs_.add_worker(head_.bcast, of_node, 1, 0, share, rank));
  }

  /// Heads outside, so that a rank's connections count up by head.
  void connect_node(const NodeWorkers& workers, int node) {
    for (std::size_t head = 0; head < heads_.size(); ++head) {
      for (int gpu = 0; gpu < assembly_.gpus(); ++gpu) {
        if (gpu == heads_[head]) continue;
        const auto g = static_cast<std::size_t>(gpu);
        const Endpoint rank = end(node, gpu, 0), at = end(node, heads_[head], 0);
        if (adds_up()) connect(workers.scatter[g], workers.reduce[head], rank, at, gpu, false);
        if (hands_out()) connect(workers.bcast[head], workers.gather[g], at, rank, gpu, true);
      }
    }
  }

  /// NCCL pays the fixed cost of scatter and gather once for the chunks of all heads: here each has
  /// its part. `waits`: the sender's own fixed cost is more than that; the rest is a latency.
  void connect(std::uint32_t from, std::uint32_t to, Endpoint a, Endpoint b, int gpu, bool waits) {
    const Transport way = assembly_.plan(a, b, run().transport);
    const auto kind = static_cast<std::size_t>(way.kind);
    const auto peers = static_cast<std::int64_t>(heads_.size()) - (head_number(gpu) < 0 ? 0 : 1);
    const Duration whole = assembly_.fixed_cost(from, assembly_.costs().overhead_of_end(way.kind));
    std::vector<std::uint32_t> path;
    for (const LinkId link : way.into_slots) path.push_back(assembly_.link(link));
    ConnectionSpec spec;
    spec.from = from;
    spec.to = to;
    spec.slots = kConnectionSlots;
    spec.path = path;
    spec.overhead = {whole.ps / peers};
    spec.sync = assembly_.costs().sync[kind] + (waits ? whole - spec.overhead : Duration{});
    spec.credit = assembly_.latency(way.into_slots) + assembly_.costs().sync[kind];
    assembly_.machine().connect(spec);
  }

  Assembly& assembly_;
  std::vector<int> heads_;  ///< local ranks
  HeadPrograms programs_;
  CollnetWiring network_;
  HeadChunks chunks_;
  const HeadTurnsProgram &scatters_, &gathers_;
  Classes head_, no_head_;
};

}  // namespace

void add_collnet_direct(Assembly& assembly) { DirectSchedule(assembly).add(); }

}  // namespace fabricast
