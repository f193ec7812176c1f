#pragma once
// Builds the workers, proxies and connections of one collective on a machine. Each algorithm adds
// what it needs (add_rings(), add_trees(), add_nvls(), ...); what they share stands here.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/hardware/cluster/fabric_routes.hpp"
#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/call/connection_ends.hpp"
#include "models/nccl/call/transport.hpp"
#include "models/nccl/symmetry/simulated_links.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

class Assembly {
 public:
  /// Adds every rank's proxy thread, unless they have been added for another call of the
  /// communicator: then `first_thread` is theirs. All arguments outlive the assembly. REQUIRES: the
  /// machine has the cluster's links.
  Assembly(Machine& machine, const Cluster& cluster, const SoftwareCosts& software,
           const CollectiveRun& run, const Partition& partition,
           std::optional<std::uint32_t> first_thread = std::nullopt);
  /// The same for a run of which ranks and channels that are alike may be simulated once, or all
  /// (`is_full`). REQUIRES: `links` are those of the machine, folded if there are copies, unless
  /// is_full.
  Assembly(Machine& machine, SimulatedLinks& links, const Cluster& cluster,
           const SoftwareCosts& software, const CollectiveRun& run, const Partition& partition,
           const Symmetry& symmetry, bool is_full,
           std::optional<std::uint32_t> first_thread = std::nullopt);

  const Cluster& cluster() const { return cluster_; }
  const SoftwareCosts& software() const { return software_; }
  const CollectiveRun& run() const { return run_; }
  const Partition& partition() const { return partition_; }
  /// Of the run's protocol on the nodes' GPUs.
  const ProtocolCosts& costs() const { return costs_; }
  /// The costs of the network that the run takes.
  const NetworkCosts& network() const { return network_; }
  const Members& members() const { return members_; }
  int nodes() const { return members_.node_count(); }
  int gpus() const { return members_.gpus_per_node(); }  ///< per node
  int ranks() const { return members_.ranks(); }
  Machine& machine() { return machine_; }

  // A schedule builds all parts of the partition on all ranks by these, and need not know that only
  // some are simulated: what stands for others is named by BlockMap and asked for by is_own().

  /// Parts of the partition.
  const std::vector<std::uint32_t>& lanes() const { return lanes_; }
  template <class Visit>
  void each_node(Visit visit) const {
    for (int node = 0; node < (is_full_ ? nodes() : symmetry_.nodes()); ++node) visit(node);
  }
  /// All places of a lane, in the order of nodes, and in each as `rank_at(lane, place)` says. Calls
  /// `visit` with those that are alike at once: workers and connections of one kind that they add
  /// must be numbered in a row, unless connections share links evenly.
  template <class RankAt, class Visit>
  void each_place(std::uint32_t lane, RankAt rank_at, Visit visit) const {
    const int all = symmetry_.nodes() * gpus();
    std::vector<BlockPlace> alike(1);
    for (int place = 0; place < all; ++place) {
      alike.front() = {lane, rank_at(lane, place)};
      if (is_full_) symmetry_.list_alike(alike.front(), alike);
      visit(std::span<const BlockPlace>(alike));
    }
  }
  /// Of each loop of a ring the first so many are simulated; 0 = all.
  std::uint32_t chunks() const { return symmetry_.chunks; }
  /// Not a copy of what is simulated in another place.
  bool is_own(BlockPlace place) const { return representative(place) == place; }
  BlockPlace representative(BlockPlace place) const {
    return is_full_ ? place : symmetry_.representative(place);
  }
  /// Ranks that are simulated, the first so many.
  int ranks_simulated() const { return static_cast<int>(workers_of_rank_.size()); }
  /// Lanes of which some stand for others that take their ways are so many; 0 = none does,
  int lanes_standing_for_others() const {
    return !is_full_ && symmetry_.lanes.merges() ? static_cast<int>(lanes_.size()) : 0;
  }
  /// and so many take the ways of one of them.
  std::uint32_t copies_of_lane(std::uint32_t lane) const {
    return is_full_ ? 1 : symmetry_.copies_of(lane);
  }
  /// Whether one worker can stand for two ranks of a node that do the same: their GPUs copy at one
  /// rate.
  bool merges(int rank, int other) const;
  /// The worker does it for this rank too.
  void add_rank(std::uint32_t worker, int rank, std::uint64_t slices);
  /// The worker is no thread of the rank's, but the rank has its data when the worker ends.
  void ends_with(int rank, std::uint32_t worker) {
    workers_of_rank_[simulated(rank)].push_back({worker, kNoLane, rank});
  }

  /// Not a copy of another link.
  bool is_own(LinkId link) const {
    return is_full_ || symmetry_.representative(cluster_, link) == link;
  }
  /// The machine's link for a link of the cluster.
  std::uint32_t link(LinkId link) { return links_ == nullptr ? index_of(link) : (*links_)(link); }

  Endpoint endpoint(int rank, int nic) const {
    return {members_.node(rank), members_.gpu(rank), nic};
  }
  /// As plan_transport(), for the members.
  Transport plan(Endpoint from, Endpoint to, const TransportRules& rules) const {
    return plan_transport(cluster_, members_.gpus(), run_.protocol, from, to, rules);
  }

  /// One worker class per local rank, as GPUs may differ: `share` of the copy rate that the GPU
  /// gives a block of the protocol. `in_step`: see WorkerClass. `keeps`: a primitive without inputs
  /// also copies to the output, without lines and flags, as with Simple.
  std::vector<std::uint32_t> worker_classes(double share, bool in_step = false, bool keeps = false);
  /// Of that rate, of a block that receives over the network.
  double share_from_net() const {
    return run_.protocol == Protocol::ll128 ? software_.ll128_net_share : 1;
  }
  /// The same for workers that copy at rates of their own, by local rank.
  std::vector<std::uint32_t> worker_classes(const std::vector<Bandwidth>& rates);

  /// A worker that is some of the threads of `rank`'s block. It handles `slices` in all.
  std::uint32_t add_worker(const std::vector<std::uint32_t>& classes, const Program& program,
                           Role role, int rank, std::uint64_t slices);

  /// A fixed cost of this worker, which is higher on a GPU that is slow (Faults).
  Duration fixed_cost(std::uint32_t worker, Duration healthy) const;

  /// What is built is counted and never run: ways of connections are left out.
  void only_count() { only_counts_ = true; }
  /// Between nodes its connections take these ways; else they go by destination.
  void take_routes(const FabricRoutes& routes) { routes_.emplace(routes); }

  /// Slots between two workers, for so many slices. Through the network there are slots on both
  /// sides and a proxy between.
  /// `before`: what bytes cross before they get to GPU `a` (ConnectionSpec::path).
  void connect(std::uint32_t from, std::uint32_t to, Endpoint a, Endpoint b, std::uint64_t slices,
               std::vector<std::uint32_t> before = {});

  /// A proxy that posts messages on the thread of this GPU's process: to GPU memory, flushing as
  /// many or not, or to host memory; or one that receives.
  enum class Proxy { sends, flushes, sends_to_host, receives };
  /// Whether a message over the network passes the receiver's proxy, too.
  bool passes_receiver(bool into_gpu) const;
  std::uint32_t add_proxy(int node, int gpu, std::uint64_t slices, std::uint32_t copies = 1,
                          Proxy does = Proxy::sends);

  /// Channels of NVLS go on in step, and share links and threads evenly, but for their ways to
  /// SHARP and back (docs/scale.md says what measured runs say to it).
  bool shares() const { return is_nvls(run_.algorithm); }
  /// A worker or junction stands for so many in its place, of channels that take the same ways.
  std::uint32_t copies(std::uint32_t worker) const {
    return worker < copies_of_worker_.size() ? copies_of_worker_[worker] : 1;
  }

  Duration latency(const std::vector<LinkId>& links) const;

  // A schedule that is the same for all sizes, but for what its programs read in the partition:
  /// says so before it adds anything. All workers and proxies of a lane handle `slices(lane)`.
  void sized_by(std::function<std::uint64_t(std::uint32_t lane)> slices) {
    slices_of_lane_ = std::move(slices);
  }
  /// What was added since the last call of this is all of this lane.
  void end_lane(std::uint32_t lane);
  bool is_resizable() const { return slices_of_lane_ != nullptr; }
  /// The partition has become that of another size. REQUIRES: is_resizable(); the same channels.
  void resize();

  /// Keeps a program for as long as the machine may run it.
  template <class P>
  const P& keep(std::unique_ptr<P> program) {
    const P& kept = *program;
    programs_.push_back(std::move(program));
    return kept;
  }

  /// A connection through the network on which nothing is sent before the receiver is ready: the
  /// proxy that sends, the worker that receives, and how long the end of the latter is on its way.
  struct NetConnection {
    Endpoint from, to;
    std::uint32_t proxy = 0, receiver = 0;
    Duration credit;
  };

  // Results.
  /// In the order of the schedule, which is that of all calls of an algorithm on so many channels.
  const std::vector<NetConnection>& net_connections() const { return net_connections_; }
  std::uint32_t first_thread() const { return first_thread_; }
  /// Those of its copy, where a rank is not simulated; each once, in ascending order.
  std::vector<std::uint32_t> workers(int rank) const;
  /// Of ranks that are alike, this is the one whose workers are simulated.
  bool is_first(int rank) const { return simulated(rank) == static_cast<std::size_t>(rank); }
  /// Those that a part of the partition gave a rank. REQUIRES: the part is simulated.
  std::vector<std::uint32_t> workers(int rank, std::uint32_t lane) const;
  /// Slices that all GPU workers handle.
  std::uint64_t slices() const { return slices_; }
  /// Whether a worker stands for several ranks of a node.
  bool has_merged() const { return has_merged_; }
  /// The machine's, with those that proxies forward and the fabric passes on: one event each.
  std::uint64_t events() const { return slices_ + forwarded_ - merged_; }
  /// Slices handled by what is no GPU: counted as events only.
  void add_forwarded(std::uint64_t slices, std::uint32_t copies = 1) {
    forwarded_ += slices * copies;
    merged_ += slices * (copies - 1);
  }

  /// The same for what no node has for itself, in the full run and in the machine, of which
  /// add_forwarded() knows.
  void add_shared(std::uint64_t full, std::uint64_t simulated) {
    shared_ += full;
    shared_simulated_ += simulated;
  }
  /// Events that the machine does not have, as workers or relays stand for several.
  std::uint64_t merged() const { return merged_; }
  /// See add_shared(): of the full run, and of the machine.
  std::uint64_t shared() const { return shared_; }
  std::uint64_t shared_simulated() const { return shared_simulated_; }

 private:
  Assembly(Machine& machine, SimulatedLinks* links, const Cluster& cluster,
           const SoftwareCosts& software, const CollectiveRun& run, const Partition& partition,
           const Symmetry& symmetry, bool is_full, std::optional<std::uint32_t> first_thread);
  /// The rank that is simulated for this one.
  std::size_t simulated(int rank) const;
  std::uint32_t add_worker_class(const WorkerClass& kind);
  void note_copies(std::uint32_t worker, std::uint32_t copies);
  /// What a hop through the network takes longer on several channels.
  Duration channel_spread() const;
  /// The way of a connection: inside of nodes all have the same.
  const Transport& way_between(Endpoint from, Endpoint to);
  const Transport& far_way(Endpoint from, Endpoint to);
  /// The connection's own way, which has been planned by destination.
  const Transport& routed(const Transport& planned);
  void route(std::vector<LinkId>& way);
  ConnectionEnds ends_between(Endpoint from, Endpoint to);
  double speed(int rank) const;  ///< 1 unless the GPU is slow
  std::uint32_t slowed_class(std::uint32_t worker_class, double speed);
  std::uint32_t& relay_class(Proxy does) { return relay_class_[static_cast<std::size_t>(does)]; }

  static constexpr std::uint32_t kNoLane = UINT32_MAX;
  /// Which rank's, which may be a copy of the one whose list it is in.
  struct RankWorker {
    std::uint32_t worker, lane;
    int rank;
  };

  Machine& machine_;
  SimulatedLinks* links_ = nullptr;  ///< none: all, with the cluster's numbers
  const Cluster& cluster_;
  const SoftwareCosts& software_;
  const ProtocolCosts costs_;
  const NetworkCosts network_;
  const CollectiveRun& run_;
  const Partition& partition_;
  Members members_;
  Symmetry symmetry_;
  bool is_full_ = false, has_merged_ = false, only_counts_ = false;
  Transport way_;                                    ///< of the last connection
  std::vector<std::optional<Transport>> near_ways_;  ///< by two GPUs: on the first node
  /// GPU and NIC of either end, and whether they are in one node.
  using Ends = std::array<int, 5>;
  static Ends ends_of(Endpoint from, Endpoint to) {
    return {from.gpu, from.nic, to.gpu, to.nic, from.node == to.node ? 1 : 0};
  }
  /// Between the nodes that came first, with so many links in the first of them and the other.
  struct FarWay {
    Transport way;
    std::size_t inside_first = 0, inside_last = 0;
  };
  std::map<Ends, FarWay> far_ways_;
  std::optional<FabricRoutes> routes_;  ///< none: ways stay as they are planned
  /// Connections that have been routed, by the links of their two ports.
  std::map<std::pair<LinkId, LinkId>, std::uint32_t> routed_;
  std::map<Ends, ConnectionEnds> known_ends_;
  std::vector<std::uint32_t> lanes_;
  std::vector<NetConnection> net_connections_;
  std::vector<std::uint8_t> copies_of_worker_;
  std::uint32_t first_thread_ = 0;              ///< of the ranks' proxies
  std::array<std::uint32_t, 4> relay_class_{};  ///< by Proxy
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::vector<RankWorker>> workers_of_rank_;
  std::map<std::uint32_t, WorkerClass> classes_;
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> slowed_classes_;
  std::map<std::uint32_t, double> speeds_;  ///< of workers of slow GPUs
  std::uint64_t slices_ = 0, merged_ = 0, forwarded_ = 0, shared_ = 0, shared_simulated_ = 0;
  /// Of a resizable schedule, by lane: how many handle its slices.
  struct Handlers {
    std::uint64_t workers = 0, proxies = 0;
  };
  std::function<std::uint64_t(std::uint32_t)> slices_of_lane_;
  std::vector<Handlers> handlers_;
  std::uint64_t slices_told_ = 0, forwarded_told_ = 0;  ///< of what has been added up to end_lane()
};

/// What a schedule keeps for each place, or for each node of a lane: for one that is not simulated
/// that of its representative.
template <class T>
class BlockMap {
 public:
  enum class Per { rank, node };
  explicit BlockMap(const Assembly& assembly, Per per = Per::rank)
      : assembly_(assembly),
        ranks_(per == Per::rank ? 1 : assembly.gpus()),
        rows_(assembly.partition().parts.size()) {}

  T& operator()(BlockPlace place) {
    const BlockPlace at = assembly_.representative(place);
    std::vector<T>& row = rows_[at.lane];
    if (row.empty()) row.resize(static_cast<std::size_t>(assembly_.ranks_simulated() / ranks_));
    return row[static_cast<std::size_t>(at.rank / ranks_)];
  }

 private:
  const Assembly& assembly_;
  int ranks_;
  std::vector<std::vector<T>> rows_;  ///< by lane, and rank or node
};

/// Ids of links as the machine knows them.
std::vector<std::uint32_t> link_ids(const std::vector<LinkId>& links);

/// All that the run's algorithm needs.
void add_schedule(Assembly& assembly);

// One per algorithm, each in its own file. REQUIRES: the run's algorithm.
void add_rings(Assembly& assembly);
void add_trees(Assembly& assembly);
void add_nvls(Assembly& assembly);  ///< NVLS and NVLSTree
void add_collnet_direct(Assembly& assembly);
void add_collnet_chain(Assembly& assembly);
void add_pat(Assembly& assembly);
void add_custom(Assembly& assembly);

}  // namespace fabricast
