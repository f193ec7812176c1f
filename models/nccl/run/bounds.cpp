#include "models/nccl/run/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "models/hardware/cluster/leaves.hpp"
#include "models/nccl/run/exchange_bounds.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/planned.hpp"
#include "models/nccl/symmetry/network_folds.hpp"
#include "models/nccl/symmetry/run_hops.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "sim/base/scaled.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

/// Events of a twin that fast-forward jumps over are counted; of so many one is simulated, or less.
constexpr std::uint64_t kJumpedOver = 8;

/// An uneven ring of more workers waits for memory: 64 MiB of LL128 take 40 ns an event on 64 nodes
/// of DGX H100, 16 channels each, and 70 to 300 on 256, depending on who else uses the memory.
constexpr int kWorkersInCaches = 16'384;
constexpr std::uint64_t kOutOfCaches = 2;

enum class Side : std::uint8_t { lower, upper };

class RingTwins {
 public:
  RingTwins(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
            std::uint64_t most, const NetworkPlan& network)
      : cluster_(cluster),
        software_(software),
        run_(run),
        most_(most),
        network_(network),
        members_(members_of(run, cluster.nodes())),
        partition_(partition_of(run, members_)),
        has_seam_(two_alike_meet(run, members_)),
        healthy_(cluster.node(), cluster.nodes(), by_destination(cluster.fabric())) {
    for (std::uint32_t id = 0; cluster.has_own_rates() && id < cluster.links(); ++id)
      if (cluster.link(LinkId{id}).rate != healthy_.link(LinkId{id}).rate)
        odd_links_.push_back(LinkId{id});
  }

  /// Of any number of queue pairs, which the run need not be able to lay.
  static bool are_hashed(const NetworkPlan& network) {
    return network.rung == Rung::chunk && network.routing == Routing::ecmp &&
           network.background.empty();
  }

  /// Whether twins are known.
  static bool are_known(const Cluster& cluster, const CollectiveRun& run,
                        const NetworkPlan& network) {
    const bool is_hashed = are_hashed(network);
    if (network.carries() && !is_hashed) return false;
    if (run.custom != nullptr || !is_tuned(run.collective) || run.algorithm != Algorithm::ring ||
        has_root(run.collective) || run.calls > 1 || !run.faults.outages.empty())
      return false;
    const Members members = members_of(run, cluster.nodes());
    const FabricConfig& fabric = cluster.fabric();
    const bool is_whole = !members.is_split() && members.node_count() == cluster.nodes() &&
                          std::ranges::is_sorted(members.nodes());
    const bool is_sound = !cluster.has_own_rates() && run.faults.gpus.empty();
    return is_whole && cluster.offers_gdr_everywhere() && cluster.nodes() > 2 &&
           (cluster.node().trays() == 1 || is_sound) && run.transport.network.fused.empty() &&
           fabric.kind != FabricConfig::Kind::dragonfly && fabric.racks.pitch_metres == 0 &&
           fabric.racks.row_pitch_metres == 0 &&
           (is_hashed || fabric.routing == Routing::by_destination ||
            fabric.routing == Routing::adaptive);
  }

  std::optional<BoundedRun> find() {
    if (are_hashed(network_) && !shares_no_hashed_trunk()) return std::nullopt;
    if (has_seam_ && (has_pods() || are_racks())) return std::nullopt;
    std::optional<SimulationResult> upper = slower();
    if (!upper) return std::nullopt;
    const Faster below = faster();
    const Duration lower = std::max(below.time, some_chunks());
    BoundedRun out{std::move(*upper), {}};
    out.even_chunks.upper = std::max(lower, out.result.time);
    const bool is_itself = leaf_ == 0 && !is_faulty();  // but for its chunks
    out.even_chunks.lower = is_itself ? out.even_chunks.upper : below.even_chunks;
    out.bounds.lower = scaled(lower, 1 - order_matters(members_.ranks()));
    out.bounds.upper = scaled(out.even_chunks.upper, 1 + order_matters(members_.ranks()));
    out.bounds.how = how();
    out.result.time = out.bounds.middle();
    out.result.links.clear();
    out.result.rank_finish.clear();
    out.result.events_skipped = out.result.events - std::min(out.result.events, simulated_);
    return out;
  }

 private:
  struct Twin {
    Cluster cluster;
    CollectiveRun run;
    Partition partition;
    Symmetry symmetry = {};
  };

  int nodes() const { return cluster_.nodes(); }
  std::int64_t ranks() const { return members_.ranks(); }
  int gpus() const { return members_.gpus_per_node(); }

  /// Where rings cross NICs, odd nodes have other chains than even ones. Of an odd number of nodes
  /// the last one and the first are alike and next to each other.
  static bool two_alike_meet(const CollectiveRun& run, const Members& members) {
    const int nodes = members.node_count();
    for (int channel = 0; nodes % 2 != 0 && channel < run.channels; ++channel)
      if (ring_search_channel(run.graph, channel, 0, nodes, run.version) !=
          ring_search_channel(run.graph, channel, 1, nodes, run.version))
        return true;
    return false;
  }
  /// No move takes those two to like ones. So the slower twin has a node more, and the faster one a
  /// node less.
  int nodes_of(Side side) const {
    if (!has_seam_) return nodes();
    return side == Side::upper ? nodes() + 1 : nodes() - 1;
  }

  /// Of one run, and what it simulated.
  SimulationResult ran(const Twin& twin, bool jumps) {
    const Stream stream{{twin.run}, {}};
    SimulationOptions options;
    options.fold = true;
    options.fast_forward = jumps;
    SimulationResult out =
        simulate_planned(twin.cluster, software_, stream, plan_of(stream, twin), options);
    simulated_ += out.events - out.events_skipped;
    return out;
  }
  static JobPlan plan_of(const Stream& stream, const Twin& twin) {
    JobPlan plan = plan_job(twin.cluster, stream, twin.symmetry);
    plan.streams.front().kernels.front().works.front().partition = twin.partition;
    return plan;
  }
  std::uint64_t cost(const Twin& twin) const {
    const Stream stream{{twin.run}, {}};
    return job_size(twin.cluster, software_, {&stream, 1}, plan_of(stream, twin)).simulated;
  }

  /// The twin, if it folds to what can be simulated.
  std::optional<Twin> folded(Cluster cluster, std::vector<Faults::SlowGpu> gpus,
                             Partition partition) const {
    if (partition.parts.empty()) return std::nullopt;
    Twin twin{std::move(cluster), run_, std::move(partition)};
    twin.run.members = all_of(twin.cluster.nodes());
    twin.run.faults.gpus = std::move(gpus);
    twin.symmetry = find_symmetry(twin.cluster, twin.run, twin.partition);
    if (twin.symmetry.copies() == 1 || cost(twin) > kJumpedOver * most_) return std::nullopt;
    return twin;
  }

  /// The same GPUs of so many nodes.
  Members all_of(int nodes) const {
    std::vector<int> numbers(static_cast<std::size_t>(nodes));
    std::iota(numbers.begin(), numbers.end(), 0);
    return {std::move(numbers), members_.gpus()};
  }

  /// The fabric with so many hosts below a leaf of a plane; without faults.
  Cluster below_leaves_of(int hosts_per_leaf, Side side) const {
    FabricConfig fabric = with_leaves(healthy_, hosts_per_leaf);
    fabric.oversubscription = 1;
    if (has_pods()) {
      fabric.core_oversubscription = 1;
      fabric.pod_leaves = hosts_per_leaf >= cluster_.hosts()
                              ? 0
                              : std::gcd(cluster_.nodes_per_pod(), whole_hosts()) / hosts_per_leaf;
    }
    return {cluster_.node(), nodes_of(side), std::move(fabric)};
  }
  /// Hosts after which a twin's nodes may be alike: all, or those of a node that NVLink joins of
  /// several, whose racks seldom stand alike on leaves.
  int whole_hosts() const { return are_racks() ? cluster_.node().trays() : nodes_of(Side::upper); }
  bool are_racks() const { return cluster_.node().trays() > 1; }
  bool has_pods() const { return cluster_.layout().switches(SwitchTier::core) > 0; }

  /// All ranks' chunks of the last loop are as large as its largest, or as the mean over ranks that
  /// stand alike, `alike` ranks apart: of full chunks one has as many as another, but for one, so
  /// that this is rounded down. Whole lines, whose bytes on the wire grow evenly. Of so many nodes
  /// as the twins on the side `of` have.
  Partition evened(Side side, std::int64_t alike, Side of) const {
    Partition out = partition_;
    if (run_.collective != Collective::all_reduce) return out;
    const auto twins = static_cast<std::uint32_t>(nodes_of(of) * gpus());
    const std::int64_t line =
        std::max<std::int64_t>(wire_format(run_.protocol).payload / out.element_bytes, 1);
    for (ChannelPart& part : out.parts) {
      const ChunkLoop last = last_loop(part);
      std::int64_t chunk = std::min(last.chunk_elements, last.left_elements);
      if (side == Side::lower && last.left_elements != chunk * ranks())
        chunk = last.left_elements / chunk / alike * alike * chunk / ranks() / line * line;
      const std::int64_t before =
          (loops(part) - 1) * loop_elements(part, run_.algorithm, run_.collective, twins);
      part.count_elements = before + chunk * twins;
      part.last_loop_chunk_elements = chunk;
    }
    std::erase_if(out.parts, [](const ChannelPart& part) { return part.count_elements == 0; });
    return out;
  }

  std::int64_t loops(const ChannelPart& part) const {
    return loop_count(part, run_.algorithm, run_.collective, static_cast<std::uint32_t>(ranks()));
  }
  ChunkLoop last_loop(const ChannelPart& part) const {
    return chunk_loop(part, run_.algorithm, run_.collective, static_cast<std::uint32_t>(ranks()),
                      loops(part) - 1);
  }

  /// Whether a chunk's time on its way grows evenly with its size: it goes as one slice, and no
  /// rank's is empty, which takes a block no time.
  bool grows_evenly() const {
    if (run_.collective != Collective::all_reduce || run_.protocol != Protocol::simple) return true;
    return std::ranges::all_of(partition_.parts, [&](const ChannelPart& part) {
      const ChunkLoop last = last_loop(part);
      const Slicing slicing =
          slices_of_chunk(last.chunk_elements, partition_.element_bytes, partition_.shape,
                          step_size(run_.protocol, run_.buffers));
      return last.left_elements == last.chunk_elements * ranks() ||
             (last.chunk_elements <= slicing.slice_elements &&
              last.left_elements > last.chunk_elements * (ranks() - 1));
    });
  }

  /// Between switches no two NICs send over one link: then no link of a twin is busier than the
  /// ones of the run, where more ways climb to spines.
  bool shares_no_trunk() const {
    const RunHops hops(cluster_, run_, members_);
    std::map<LinkId, std::pair<LinkId, LinkId>> users;
    for (int rank = 0; rank < members_.ranks(); ++rank) {
      for (int channel = 0; channel < run_.channels; ++channel) {
        for (const RunHops::Hop& hop : hops.leaving(channel, rank)) {
          std::vector<LinkId> way = hops.way(hop).network;
          std::erase_if(way, [&](LinkId link) { return !cluster_.is_fabric_link(link); });
          const std::pair ends{way.front(), way.back()};
          for (const LinkId link : way)
            if (cluster_.is_trunk(link) && users.try_emplace(link, ends).first->second != ends)
              return false;
        }
      }
    }
    return true;
  }

  /// The same of hashed ways, of as many queue pairs as two NICs have, which are numbered in turn.
  bool shares_no_hashed_trunk() const {
    const RunHops hops(cluster_, run_, members_);
    using Ends = std::array<int, 4>;  // node and NIC, twice
    std::map<Ends, std::uint32_t> pairs;
    for (int rank = 0; rank < members_.ranks(); ++rank)
      for (int channel = 0; channel < run_.channels; ++channel)
        for (const RunHops::Hop& hop : hops.leaving(channel, rank))
          pairs[{hop.near.node, hop.near.nic, hop.far.node, hop.far.nic}] +=
              static_cast<std::uint32_t>(network_.queue_pairs);
    std::map<LinkId, Ends> users;
    const auto nic = [&](int number) {
      return cluster_.node().nics()[static_cast<std::size_t>(number)].vertex;
    };
    for (const auto& [ends, count] : pairs)
      for (std::uint32_t pair = 0; pair < count; ++pair)
        for (const LinkId link : cluster_.hashed_route(ends[0], nic(ends[1]), ends[2], nic(ends[3]),
                                                       pair, network_.seeds))
          if (cluster_.is_trunk(link) && users.try_emplace(link, ends).first->second != ends)
            return false;
    return true;
  }

  static FabricConfig by_destination(FabricConfig fabric) {
    if (fabric.routing == Routing::ecmp) fabric.routing = Routing::by_destination;
    return fabric;
  }

  /// The link in the same place of the first `period` nodes, in a cluster of as many or of another
  /// number of nodes. REQUIRES: none between switches.
  LinkId first_like(LinkId link, int period, const Cluster& other) const {
    link = cluster_.moved_back(link, cluster_.first_node_of(link) / period * period);
    if (!has_seam_ || !cluster_.is_fabric_link(link)) return link;
    const bool leaves_nic = !cluster_.link_from(link).is_switch;
    const auto [node, nic] =
        cluster_.nic_at(leaves_nic ? cluster_.link_from(link) : cluster_.link_to(link));
    return leaves_nic ? other.nic_to_leaf(node, nic) : other.leaf_to_nic(node, nic);
  }

  /// The same faults on all nodes that are `period` apart. Nothing where one is between switches,
  /// which other leaves do not have.
  std::optional<Twin> with_faults(Twin twin, int period) const {
    std::set<std::pair<std::uint32_t, std::int64_t>> rates;
    for (const LinkId link : odd_links_) {
      if (cluster_.is_trunk(link)) return std::nullopt;
      rates.emplace(index_of(first_like(link, period, twin.cluster)),
                    std::min(cluster_.link(link).rate, healthy_.link(link).rate).bytes_per_s);
    }
    for (const auto& [link, rate] : rates)
      for (int node = 0; node < twin.cluster.nodes(); node += period) {
        const LinkId like = twin.cluster.moved_back(LinkId{link}, -node);
        if (rate < twin.cluster.link(like).rate.bytes_per_s) twin.cluster.set_rate(like, {rate});
      }
    std::map<int, double> speeds;
    const int alike = period * gpus(), all = twin.cluster.nodes() * gpus();
    for (const Faults::SlowGpu& gpu : run_.faults.gpus) {
      const auto [at, is_new] = speeds.try_emplace(gpu.rank % alike, gpu.speed);
      if (!is_new) at->second = std::min(at->second, gpu.speed);
    }
    std::vector<Faults::SlowGpu> gpus;
    for (int rank = 0; rank < all; rank += alike)
      for (const auto& [first, speed] : speeds) gpus.push_back({rank + first, speed});
    return folded(std::move(twin.cluster), std::move(gpus), std::move(twin.partition));
  }

  /// Of nodes, the largest period that divides all and takes a fourth of the budget.
  int widest_period(const Twin& twin) const {
    const int least = twin.symmetry.nodes(), all = twin.cluster.nodes();
    const std::uint64_t one = std::max<std::uint64_t>(cost(twin) / static_cast<unsigned>(least), 1);
    int out = least;
    for (int period = least; period < all; period += least)
      if (all % period == 0 && one * static_cast<unsigned>(period) <= most_ / 4) out = period;
    return out;
  }

  /// Nodes below a leaf of the slower twin. From the last node to the first a ring with a seam goes
  /// to another NIC, over a spine, and may go on at the pace of that hop: some of its twin do, too.
  int twin_leaf() const {
    const int leaf = std::gcd(cluster_.nodes_per_leaf(), whole_hosts());
    return has_seam_ && leaf == nodes_of(Side::upper) ? 2 : leaf;
  }

  std::optional<SimulationResult> slower() {
    const Partition even = evened(Side::upper, 1, Side::upper);
    for (const bool own_leaves : {true, false}) {
      if (own_leaves && (are_racks() || has_seam_)) continue;
      if (!own_leaves && !shares_no_trunk()) return std::nullopt;
      const int leaf = twin_leaf();
      std::optional<Twin> twin =
          folded(own_leaves ? healthy_ : below_leaves_of(leaf, Side::upper), {}, even);
      if (twin && is_faulty()) twin = with_faults(*twin, period_ = widest_period(*twin));
      if (!twin) continue;
      leaf_ = own_leaves ? 0 : leaf;
      return ran(*twin, true);
    }
    return std::nullopt;
  }
  bool is_faulty() const { return !odd_links_.empty() || !run_.faults.gpus.empty(); }

  /// 0 where nothing is known.
  struct Faster {
    Duration time, even_chunks;
  };
  Faster faster() {
    for (const bool own_leaves : {true, false}) {
      if (own_leaves && (are_racks() || has_seam_)) continue;
      const Cluster cluster =
          own_leaves ? healthy_ : below_leaves_of(cluster_.hosts(), Side::lower);
      std::optional<Twin> twin = folded(cluster, {}, evened(Side::upper, 1, Side::lower));
      if (!twin) continue;
      Faster out;
      if (leaf_ > 0) out.even_chunks = ran(*twin, true).time;
      if (!grows_evenly()) return out;
      const std::int64_t alike = std::int64_t{twin->symmetry.nodes()} * gpus();
      twin = folded(cluster, {}, evened(Side::lower, alike, Side::lower));
      if (!twin) return out;
      const SimulationResult result = ran(*twin, true);
      out.time = std::max(result.time, busiest(*twin, result));
      return out;
    }
    return {};
  }

  /// What a slow link takes for its bytes alone.
  Duration busiest(const Twin& twin, const SimulationResult& result) const {
    std::map<LinkId, Bytes> carried;
    for (const LinkLoad& load : result.links) carried[load.link] = load.carried;
    Duration out;
    for (const LinkId link : odd_links_) {
      if (cluster_.is_trunk(link)) continue;
      const LinkId first = first_like(link, twin.symmetry.nodes(), twin.cluster);
      const auto like = carried.find(twin.symmetry.representative(twin.cluster, first));
      if (like == carried.end()) continue;
      out = std::max(out, transfer_time(like->second, cluster_.link(link).rate));
    }
    return out;
  }

  /// The run itself, cut down to some chunks of each loop.
  Duration some_chunks() {
    Twin part{cluster_, run_, partition_, Symmetry(members_, partition_)};
    std::uint64_t of_each = 0;
    const auto all = static_cast<std::uint32_t>(ranks());
    for (const ChannelPart& one : partition_.parts)
      of_each += static_cast<std::uint64_t>(loops(one));
    of_each *= static_cast<std::uint64_t>(partition_.shape.slices_per_chunk()) * 2 * all;
    chunks_ = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(most_ / 16 / std::max<std::uint64_t>(of_each, 1), 1, all));
    part.symmetry.chunks = chunks_;
    return ran(part, false).time;
  }

  std::string how() const {
    std::string out = "the same call";
    if (!even_chunks()) out += " with even chunks";
    if (has_seam_)
      out += fmt::format(", on {} and {} nodes", nodes_of(Side::lower), nodes_of(Side::upper));
    if (leaf_ > 0)
      out += fmt::format(", below leaves of {} and below one leaf",
                         counted(leaf_, are_racks() ? "host" : "node"));
    if (is_faulty()) out += fmt::format(", without faults and with them every {} nodes", period_);
    return out + fmt::format(", with {} of its {} chunks", chunks_, ranks());
  }
  bool even_chunks() const {
    return run_.collective != Collective::all_reduce ||
           std::ranges::all_of(partition_.parts, [&](const ChannelPart& part) {
             const ChunkLoop last = last_loop(part);
             return last.left_elements == last.chunk_elements * ranks();
           });
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  const CollectiveRun& run_;
  std::uint64_t most_;
  NetworkPlan network_;
  Members members_;
  Partition partition_;
  bool has_seam_;
  Cluster healthy_;
  std::vector<LinkId> odd_links_;  ///< with a rate of their own
  std::uint64_t simulated_ = 0;
  int leaf_ = 0,
      period_ = 0;  ///< of the slower twin: nodes below a leaf if not as they are; faults
  std::uint32_t chunks_ = 0;
};

}  // namespace

double TimeBounds::half_width() const {
  return static_cast<double>((upper - lower).ps) / 2 / static_cast<double>(middle().ps);
}

std::optional<BoundedRun> bound_run(const Cluster& cluster, const SoftwareCosts& software,
                                    const CollectiveRun& run, const Symmetry& symmetry,
                                    std::uint64_t most, const NetworkPlan& network,
                                    std::uint64_t dearest) {
  if (std::optional<BoundedRun> found =
          network.far_ways() != FarWays::by_destination
              ? std::nullopt
              : bound_exchange(cluster, software, run, symmetry, most, dearest)) {
    found->result.why_not_folded = symmetry.why_not;
    return found;
  }
  const bool folds =
      !network.carries() && standing_symmetry(cluster, network, run, symmetry).copies() > 1;
  if (folds || !RingTwins::are_known(cluster, run, network)) return std::nullopt;
  const std::uint64_t events = job_size(cluster, software, run, symmetry).simulated *
                               static_cast<std::uint64_t>(symmetry.copies());
  const int workers = members_of(run, cluster.nodes()).ranks() * run.channels;
  if (events * (workers > kWorkersInCaches ? kOutOfCaches : 1) <= most) return std::nullopt;
  std::optional<BoundedRun> out = RingTwins(cluster, software, run, most, network).find();
  if (out) {
    out->bounds.events = events;
    out->result.why_not_folded = symmetry.why_not;
  }
  return out;
}

}  // namespace fabricast
