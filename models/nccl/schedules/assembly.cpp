#include "models/nccl/schedules/assembly.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "models/nccl/call/connection_ends.hpp"
#include "models/nccl/schedules/post_costs.hpp"
#include "models/nccl/split/slices.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

/// A block takes lines as they come, whose flags are beside the data: 8 B each (LL), or 128 B of
/// which a block takes a pass at once (LL128; src/device/prims_ll.h, prims_ll128.h).
bool sees_lines(Protocol protocol) { return protocol != Protocol::simple; }

/// A warp of LL128 polls all lines of its pass (64 B a thread, 60 of them data) and sums them
/// before it stores the first. All warps of a block begin a slice together, so that the links carry
/// nothing of it during its first pass.
Bytes pass_ahead(Protocol protocol, int threads) {
  return {protocol == Protocol::ll128 ? threads * std::int64_t{60} : 0};
}

}  // namespace

std::vector<std::uint32_t> link_ids(const std::vector<LinkId>& links) {
  std::vector<std::uint32_t> out;
  for (const LinkId link : links) out.push_back(index_of(link));
  return out;
}

Assembly::Assembly(Machine& machine, const Cluster& cluster, const SoftwareCosts& software,
                   const CollectiveRun& run, const Partition& partition,
                   std::optional<std::uint32_t> first_thread)
    : Assembly(machine, nullptr, cluster, software, run, partition,
               Symmetry(members_of(run, cluster.nodes()), partition), true, first_thread) {}

Assembly::Assembly(Machine& machine, SimulatedLinks& links, const Cluster& cluster,
                   const SoftwareCosts& software, const CollectiveRun& run,
                   const Partition& partition, const Symmetry& symmetry, bool is_full,
                   std::optional<std::uint32_t> first_thread)
    : Assembly(machine, &links, cluster, software, run, partition, symmetry, is_full,
               first_thread) {}

Assembly::Assembly(Machine& machine, SimulatedLinks* links, const Cluster& cluster,
                   const SoftwareCosts& software, const CollectiveRun& run,
                   const Partition& partition, const Symmetry& symmetry, bool is_full,
                   std::optional<std::uint32_t> first_thread)
    : machine_(machine),
      links_(links),
      cluster_(cluster),
      software_(software),
      costs_(software.costs(run.protocol, cluster.node().gpus().front().part)),
      network_(network_costs(software, cluster.node(), run.transport.network.kind)),
      run_(run),
      partition_(partition),
      members_(members_of(run, cluster.nodes())),
      symmetry_(symmetry),
      is_full_(is_full) {
  const int simulated = is_full ? ranks() : symmetry_.nodes() * gpus();
  if (first_thread) first_thread_ = *first_thread;
  for (int i = 0; !first_thread && i < simulated; ++i) {
    const std::uint32_t thread = machine_.add_thread();
    if (i == 0) first_thread_ = thread;
  }
  PostCost cost = post_cost(network(), run.transport.network, run.protocol);
  relay_class(Proxy::flushes) = machine_.add_relay_class({cost, wire_format(run.protocol)});
  cost.receipt = cost.large_receipt = {};
  relay_class(Proxy::sends) = machine_.add_relay_class({cost, wire_format(run.protocol)});
  PostCost to_host = post_cost(network(), run.transport.network, run.protocol, false);
  to_host.receipt = to_host.large_receipt = {};
  relay_class(Proxy::sends_to_host) =
      machine_.add_relay_class({to_host, wire_format(run.protocol)});
  if (passes_receiver(true))
    relay_class(Proxy::receives) = machine_.add_relay_class(
        {receipt_cost(network(), run.transport.network, run.protocol), wire_format(run.protocol)});
  workers_of_rank_.resize(static_cast<std::size_t>(simulated));
  for (std::uint32_t lane = 0; lane < partition.parts.size(); ++lane) {
    BlockPlace place{lane, 0};
    for (const Move& move : symmetry_.moves) place = move.representative(place);
    if (place.lane == lane && representative(place).lane == lane) lanes_.push_back(lane);
  }
}

bool Assembly::passes_receiver(bool into_gpu) const {
  return fabricast::passes_receiver(network(), run_.transport.network, run_.protocol, into_gpu);
}

std::size_t Assembly::simulated(int rank) const {
  return static_cast<std::size_t>(is_full_ ? rank : symmetry_.representative(rank));
}

void add_schedule(Assembly& assembly) {
  if (assembly.run().custom) return add_custom(assembly);
  switch (assembly.run().algorithm) {
    case Algorithm::ring:
      return add_rings(assembly);
    case Algorithm::tree:
      return add_trees(assembly);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return add_nvls(assembly);
    case Algorithm::pat:
      return add_pat(assembly);
    case Algorithm::collnet_direct:
      return add_collnet_direct(assembly);
    case Algorithm::collnet_chain:
      return add_collnet_chain(assembly);
  }
}

std::vector<std::uint32_t> Assembly::worker_classes(double share, bool in_step, bool keeps) {
  const Bytes first = costs().first_pass, ahead = pass_ahead(run_.protocol, run_.threads);
  const bool pauses = in_step && run_.protocol != Protocol::ll;
  const auto in_step_slices = static_cast<std::uint32_t>(pauses ? software_.in_step_slices : 0);
  std::vector<std::uint32_t> out;
  for (const int gpu : members_.gpus()) {
    const auto& rates = cluster_.node().gpus()[static_cast<std::size_t>(gpu)].part.copy_rate;
    const Bandwidth whole = rates[index_of(run_.protocol)];
    const auto of_share = [&](std::int64_t all) {
      return static_cast<std::int64_t>(static_cast<double>(all) * share);
    };
    out.push_back(add_worker_class({{of_share(whole.bytes_per_s)},
                                    wire_format(run_.protocol),
                                    {of_share(first.count)},
                                    in_step,
                                    pauses,
                                    in_step_slices,
                                    keeps ? rates[index_of(Protocol::simple)] : Bandwidth{},
                                    {of_share(ahead.count)},
                                    run_.protocol == Protocol::ll128}));
  }
  return out;
}

std::vector<std::uint32_t> Assembly::worker_classes(const std::vector<Bandwidth>& rates) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < rates.size(); ++i)
    out.push_back(i > 0 && rates[i] == rates[i - 1]
                      ? out.back()
                      : add_worker_class({rates[i], wire_format(run_.protocol), {}}));
  return out;
}

std::uint32_t Assembly::add_worker_class(const WorkerClass& kind) {
  const std::uint32_t id = machine_.add_worker_class(kind);
  classes_[id] = kind;
  return id;
}

std::uint32_t Assembly::add_worker(const std::vector<std::uint32_t>& classes,
                                   const Program& program, Role role, int rank,
                                   std::uint64_t slices) {
  std::uint32_t kind = classes[static_cast<std::size_t>(rank) % classes.size()];
  const bool is_slow = speed(rank) != 1;
  if (is_slow) kind = slowed_class(kind, speed(rank));
  const std::uint32_t id = machine_.add_worker(kind, program, role);
  if (is_slow) speeds_[id] = speed(rank);
  workers_of_rank_[simulated(rank)].push_back({id, role.lane, rank});
  note_copies(id, copies_of_lane(role.lane));
  slices_ += slices * copies(id);
  merged_ += slices * (copies(id) - 1);
  return id;
}

double Assembly::speed(int rank) const { return speed_of(run_.faults.gpus, rank); }

bool Assembly::merges(int rank, int other) const {
  const auto part = [&](int of) -> const GpuPart& {
    return cluster_.node().gpus()[static_cast<std::size_t>(members_.gpu(of))].part;
  };
  const std::size_t protocol = index_of(run_.protocol);
  return !is_full_ && symmetry_.merges_gpus &&
         part(rank).copy_rate[protocol] == part(other).copy_rate[protocol] &&
         part(rank).sm == part(other).sm && speed(rank) == speed(other);
}

void Assembly::add_rank(std::uint32_t worker, int rank, std::uint64_t slices) {
  workers_of_rank_[simulated(rank)].push_back({worker, kNoLane, rank});
  slices_ += slices * copies(worker);
  merged_ += slices * copies(worker);
  has_merged_ = true;
}

void Assembly::end_lane(std::uint32_t lane) {
  assert(is_resizable() && merged_ == 0);
  handlers_.resize(partition_.parts.size());
  const std::uint64_t slices = slices_of_lane_(lane);
  handlers_[lane].workers += (slices_ - std::exchange(slices_told_, slices_)) / slices;
  handlers_[lane].proxies += (forwarded_ - std::exchange(forwarded_told_, forwarded_)) / slices;
}

void Assembly::resize() {
  slices_ = forwarded_ = 0;
  for (std::uint32_t lane = 0; lane < handlers_.size(); ++lane) {
    slices_ += handlers_[lane].workers * slices_of_lane_(lane);
    forwarded_ += handlers_[lane].proxies * slices_of_lane_(lane);
  }
}

std::uint32_t Assembly::slowed_class(std::uint32_t worker_class, double speed) {
  const auto [at, is_new] = slowed_classes_.try_emplace({worker_class, speed}, 0);
  if (is_new) {
    WorkerClass kind = classes_.at(worker_class);
    for (Bandwidth* rate : {&kind.copy_rate, &kind.keep_rate})
      rate->bytes_per_s = std::llround(static_cast<double>(rate->bytes_per_s) * speed);
    at->second = machine_.add_worker_class(kind);
  }
  return at->second;
}

std::vector<std::uint32_t> Assembly::workers(int rank) const {
  std::vector<std::uint32_t> out;
  for (const RankWorker& one : workers_of_rank_[simulated(rank)]) out.push_back(one.worker);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::uint32_t> Assembly::workers(int rank, std::uint32_t lane) const {
  std::vector<std::uint32_t> out;
  for (const RankWorker& one : workers_of_rank_[simulated(rank)])
    if (one.lane == lane && one.rank == rank) out.push_back(one.worker);
  return out;
}

Duration Assembly::fixed_cost(std::uint32_t worker, Duration healthy) const {
  const auto slow = speeds_.find(worker);
  return slow == speeds_.end() ? healthy : slowed(healthy, slow->second);
}

Duration Assembly::latency(const std::vector<LinkId>& links) const {
  Duration sum;
  for (const LinkId link : links) sum += cluster_.link(link).latency;
  return sum;
}

void Assembly::note_copies(std::uint32_t worker, std::uint32_t copies) {
  if (copies == 1) return;
  assert(copies <= UINT8_MAX);
  copies_of_worker_.resize(std::max(copies_of_worker_.size(), worker + std::size_t{1}), 1);
  copies_of_worker_[worker] = static_cast<std::uint8_t>(copies);
}

std::uint32_t Assembly::add_proxy(int node, int gpu, std::uint64_t slices, std::uint32_t copies,
                                  Proxy does) {
  add_forwarded(slices, copies);
  const std::uint32_t kind = relay_class(does);
  const std::size_t rank = simulated(members_.rank(node, gpu));
  if (copies_alone(run_.transport.network))
    return machine_.add_relay(kind, machine_.add_thread(), 1);
  return machine_.add_relay(kind, first_thread_ + static_cast<std::uint32_t>(rank), copies);
}

/// Messages take unequally long, and a call ends with the last of its channels.
Duration Assembly::channel_spread() const {
  const auto channels = static_cast<double>(partition_.parts.size());
  return scaled(network().channel_spread, std::log2(channels));
}

const Transport& Assembly::way_between(Endpoint from, Endpoint to) {
  if (!cluster_.offers_gdr_everywhere()) return way_ = plan(from, to, run_.transport);
  if (from.node != to.node) return far_way(from, to);
  const std::size_t gpus = cluster_.node().gpus().size();
  near_ways_.resize(gpus * gpus);
  std::optional<Transport>& known =
      near_ways_[static_cast<std::size_t>(from.gpu) * gpus + static_cast<std::size_t>(to.gpu)];
  if (!known) {
    Transport first = plan({0, from.gpu, from.nic}, {0, to.gpu, to.nic}, run_.transport);
    // Its NICs may be those of the channel.
    if (first.kind == HopKind::net) return way_ = plan(from, to, run_.transport);
    known = std::move(first);
  }
  way_ = *known;
  for (LinkId& link : way_.into_slots) link = cluster_.global(from.node, link);
  return way_;
}

const Transport& Assembly::far_way(Endpoint from, Endpoint to) {
  if (!run_.transport.network.fused.empty() || !run_.transport.domain_nics.empty())
    return way_ = plan(from, to, run_.transport);
  const auto [known, is_new] = far_ways_.try_emplace(ends_of(from, to));
  FarWay& like = known->second;
  const auto in_fabric = [this](LinkId link) { return cluster_.is_fabric_link(link); };
  if (is_new) {
    like.way = way_ = plan(from, to, run_.transport);
    const std::vector<LinkId>& links = like.way.network;
    like.inside_first =
        static_cast<std::size_t>(std::ranges::find_if(links, in_fabric) - links.begin());
    like.inside_last = static_cast<std::size_t>(
        std::find_if(links.rbegin(), links.rend(), in_fabric) - links.rbegin());
    return way_;
  }
  way_ = like.way;
  const auto links = static_cast<std::uint32_t>(cluster_.node().links().size());
  const auto in_node = [&](int node, LinkId link) {
    return cluster_.global(node, LinkId{index_of(link) % links});
  };
  for (LinkId& link : way_.into_slots) link = in_node(from.node, link);
  way_.network = fabric_way(cluster_, from, to);
  const std::vector<LinkId>& whole = like.way.network;
  for (std::size_t i = 0; i < like.inside_first; ++i)
    way_.network.insert(way_.network.begin() + static_cast<std::ptrdiff_t>(i),
                        in_node(from.node, whole[i]));
  for (std::size_t i = whole.size() - like.inside_last; i < whole.size(); ++i)
    way_.network.push_back(in_node(to.node, whole[i]));
  return way_;
}

const Transport& Assembly::routed(const Transport& planned) {
  if (!routes_ || planned.kind != HopKind::net) return planned;
  if (&planned != &way_) way_ = planned;
  route(way_.network);
  for (NicRoute& other : way_.beside) route(other.links);
  return way_;
}

void Assembly::route(std::vector<LinkId>& way) {
  const auto in_fabric = [this](LinkId link) { return cluster_.is_fabric_link(link); };
  const auto first = std::ranges::find_if(way, in_fabric);
  if (first == way.end()) return;  // it turns round in a NIC
  const auto last = std::find_if(way.rbegin(), way.rend(), in_fabric);
  routes_->lay_again(way, routed_[{*first, *last}]++);
}

ConnectionEnds Assembly::ends_between(Endpoint from, Endpoint to) {
  const auto find = [&] {
    return connection_ends(cluster_, members_.gpus(), from, to, run_.transport);
  };
  if (!cluster_.offers_gdr_everywhere()) return find();
  const auto [known, is_new] = known_ends_.try_emplace(ends_of(from, to));
  if (is_new) known->second = find();
  return known->second;
}

void Assembly::connect(std::uint32_t from, std::uint32_t to, Endpoint a, Endpoint b,
                       std::uint64_t slices, std::vector<std::uint32_t> path) {
  if (only_counts_) {
    const ConnectionEnds ends = ends_between(a, b);
    if (ends.kind != HopKind::net) return;
    add_proxy(a.node, ends.proxy_gpu, slices, copies(from));
    if (passes_receiver(ends.receives_gdr))
      add_proxy(b.node, b.gpu, slices, copies(from), Proxy::receives);
    return;
  }
  const Transport& way = routed(way_between(a, b));
  for (const LinkId id : way.into_slots) path.push_back(link(id));
  const auto kind = static_cast<std::size_t>(way.kind);
  ConnectionSpec slots;
  slots.from = from;
  slots.shares = shares();
  slots.copies = copies(from);
  slots.slots = static_cast<std::uint32_t>(partition_.shape.slices_in_flight());
  slots.overhead = fixed_cost(from, costs().overhead[kind]);
  slots.end_saves = slots.overhead - fixed_cost(from, costs().overhead_of_end(way.kind));
  slots.path = path;
  const Duration near_latency = latency(way.into_slots);
  if (way.kind != HopKind::net) {
    slots.to = to;
    slots.by_line = sees_lines(run_.protocol);
    slots.sync = costs().sync[kind];
    slots.credit = near_latency + slots.sync;
    machine_.connect(slots);
    return;
  }
  Proxy does = way.receives_gdr ? Proxy::sends : Proxy::sends_to_host;
  if (way.flush > Duration{}) does = Proxy::flushes;
  const std::uint32_t proxy = add_proxy(a.node, way.proxy_gpu, slices, copies(from), does);
  // The flag follows the data: where both go to host memory it adds nothing.
  slots.to = proxy;
  slots.sync = std::max(Duration{}, way.sender_flag - near_latency);
  slots.credit = way.sender_flag;
  machine_.connect(slots);
  // The receiver's freed slot becomes a clear-to-send that crosses the network the other way.
  std::vector<std::vector<std::uint32_t>> routes(1);
  for (const LinkId id : way.network) routes.front().push_back(link(id));
  Duration far_latency = latency(way.network);
  for (const NicRoute& route : way.beside) {
    routes.emplace_back();
    for (const LinkId id : route.links) routes.back().push_back(link(id));
    far_latency = std::max(far_latency, latency(route.links));
  }
  const std::vector<std::uint32_t> far = side_by_side(routes);
  slots.from = proxy;
  slots.to = to;
  slots.by_line = run_.protocol == Protocol::ll;  // LL128: see docs/model.md
  slots.path = far;
  slots.sync = network().sync[index_of(run_.protocol)] + way.flush + channel_spread();
  slots.credit = way.receiver_flag + far_latency;
  slots.ack = far_latency;
  if (!passes_receiver(way.receives_gdr)) {
    net_connections_.push_back({a, b, proxy, to, slots.credit});
    return machine_.connect(slots);
  }
  // What has come waits in the system's buffers; only the receiver's proxy needs a free slot.
  slots.to = add_proxy(b.node, b.gpu, slices, copies(from), Proxy::receives);
  slots.credit = far_latency;
  machine_.connect(slots);
  slots.from = slots.to;
  slots.to = to;
  slots.path = {};
  slots.sync = slots.ack = {};
  slots.credit = way.receiver_flag;
  machine_.connect(slots);
}

}  // namespace fabricast
