#include "models/nccl/simulation.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "models/nccl/ring_links.hpp"
#include "models/nccl/ring_program.hpp"
#include "models/nccl/transport.hpp"
#include "models/nccl/tree_links.hpp"
#include "models/nccl/tree_program.hpp"
#include "sim/executor.hpp"

namespace fabricast {

namespace {

WireFormat wire_format(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return {8, 16};
    case Protocol::ll128:
      return {1920, 2048};
    case Protocol::simple:
      return {1, 1};
  }
  return {};
}

/// Builds one executor for one run.
template <class Stamp>
class Assembly {
 public:
  Assembly(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
           const Partition& partition)
      : cluster_(cluster),
        software_(software),
        run_(run),
        partition_(partition),
        gpus_(run.graph.gpus()),
        ranks_(cluster.nodes() * gpus_) {
    for (std::uint32_t link = 0; link < cluster.links(); ++link) {
      const ClusterLink spec = cluster.link(LinkId{link});
      executor_.add_link({spec.rate, spec.latency});
    }
    for (int rank = 0; cluster.nodes() > 1 && rank < ranks_; ++rank) executor_.add_thread();
    relay_class_ = executor_.add_relay_class(
        {costs().proxy_post, costs().proxy_check_rate, wire_format(run.protocol)});
    workers_of_rank_.resize(static_cast<std::size_t>(ranks_));
    if (run.algorithm == Algorithm::ring) {
      add_rings();
    } else {
      add_trees();
    }
  }

  Executor<Stamp>& executor() { return executor_; }
  int ranks() const { return ranks_; }
  const std::vector<std::uint32_t>& workers(int rank) const {
    return workers_of_rank_[static_cast<std::size_t>(rank)];
  }
  /// Slices that all GPU workers handle.
  std::uint64_t slices() const { return slices_; }
  /// With those that proxies forward: one event each.
  std::uint64_t events() const { return slices_ + forwarded_; }

 private:
  const ProtocolCosts& costs() const { return software_.protocol[index_of(run_.protocol)]; }

  Endpoint endpoint(int rank, int nic) const { return {rank / gpus_, rank % gpus_, nic}; }

  /// One class per GPU of the node: they may differ.
  std::vector<std::uint32_t> worker_classes(double share) {
    std::vector<std::uint32_t> out;
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const Bandwidth whole = cluster_.node()
                                  .gpus()[static_cast<std::size_t>(gpu)]
                                  .part.copy_rate[index_of(run_.protocol)];
      const auto rate = static_cast<std::int64_t>(static_cast<double>(whole.bytes_per_s) * share);
      out.push_back(executor_.add_worker_class({{rate}, wire_format(run_.protocol)}));
    }
    return out;
  }

  std::uint32_t add_worker(const std::vector<std::uint32_t>& classes, const Program& program,
                           Role role, int rank) {
    const std::uint32_t id =
        executor_.add_worker(classes[static_cast<std::size_t>(rank % gpus_)], program, role);
    workers_of_rank_[static_cast<std::size_t>(rank)].push_back(id);
    return id;
  }

  void add_rings() {
    std::vector<GlobalRing> rings;
    std::vector<std::uint32_t> root_index;
    for (const ChannelPart& part : partition_.parts) {
      rings.push_back(global_ring(run_.graph, cluster_.nodes(), part.channel, run_.version));
      const std::vector<int>& order = rings.back().ranks;
      root_index.push_back(static_cast<std::uint32_t>(
          std::find(order.begin(), order.end(), run_.root) - order.begin()));
    }
    const RingProgram::Config config{run_.collective, run_.protocol,
                                     static_cast<std::uint32_t>(ranks_),
                                     step_size(run_.protocol, run_.buffers), run_.in_place};
    auto program = std::make_unique<RingProgram>(config, partition_, root_index);
    const std::vector<std::uint32_t> classes = worker_classes(1);
    std::vector<std::uint32_t> first;
    for (std::uint32_t lane = 0; lane < rings.size(); ++lane) {
      first.push_back(executor_.workers());
      for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(ranks_); ++i)
        add_worker(classes, *program, {lane, i}, rings[lane].ranks[i]);
      slices_ += program->slices(lane) * static_cast<std::uint64_t>(ranks_);
    }
    const std::uint64_t ops = ring_ops_per_loop(run_.collective, config.ranks);
    const std::uint64_t sends = ring_sends_per_loop(run_.collective, config.ranks);
    for (std::uint32_t lane = 0; lane < rings.size(); ++lane)
      connect_ring(rings[lane], first[lane], program->slices(lane) / ops * sends);
    program_ = std::move(program);
  }

  void connect_ring(const GlobalRing& ring, std::uint32_t first_worker, std::uint64_t slices) {
    const auto n = static_cast<std::uint32_t>(ranks_);
    for (std::uint32_t i = 0; i < n; ++i) {
      const int from = ring.ranks[i], to = ring.ranks[(i + 1) % n];
      Endpoint a = endpoint(from, 0), b = endpoint(to, 0);
      if (a.node != b.node) {
        const NodeCrossing& crossing = ring.crossings[static_cast<std::size_t>(a.node)];
        a.nic = crossing.from_nic;
        b.nic = crossing.to_nic;
      }
      connect(first_worker + i, first_worker + (i + 1) % n, a, b, slices);
    }
  }

  void add_trees() {
    auto program = std::make_unique<TreeProgram>(partition_);
    const std::vector<std::uint32_t> split = worker_classes(software_.tree_copy_share);
    const std::vector<std::uint32_t> whole = worker_classes(1);
    const auto n = static_cast<std::size_t>(ranks_);
    for (std::uint32_t lane = 0; lane < partition_.parts.size(); ++lane) {
      const int channel = partition_.parts[lane].channel;
      std::vector<TreeLinks> links(n);
      std::vector<std::uint32_t> up(n), down(n);
      for (int rank = 0; rank < ranks_; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        links[r] = tree_links(run_.graph, cluster_.nodes(), channel, rank);
        const auto children = static_cast<std::uint32_t>(std::count_if(
            links[r].down.begin(), links[r].down.end(), [](int c) { return c >= 0; }));
        if (links[r].up < 0) {
          up[r] = down[r] =
              add_worker(whole, *program, TreeProgram::role(lane, children, children), rank);
        } else {
          up[r] = add_worker(split, *program, TreeProgram::role(lane, children, 1), rank);
          down[r] = add_worker(split, *program, TreeProgram::role(lane, 1, children), rank);
        }
        slices_ += program->slices(lane) * (links[r].up < 0 ? 1 : 2);
      }
      for (int rank = 0; rank < ranks_; ++rank) {
        for (const int child : links[static_cast<std::size_t>(rank)].down) {
          if (child < 0) continue;
          const Endpoint parent_end = endpoint(rank, nic_of(run_.graph, channel, rank % gpus_));
          const Endpoint child_end = endpoint(child, nic_of(run_.graph, channel, child % gpus_));
          const auto p = static_cast<std::size_t>(rank), c = static_cast<std::size_t>(child);
          connect(up[c], up[p], child_end, parent_end, program->slices(lane));
          connect(down[p], down[c], parent_end, child_end, program->slices(lane));
        }
      }
    }
    program_ = std::move(program);
  }

  Duration latency(const std::vector<LinkId>& links) const {
    Duration sum;
    for (const LinkId link : links) sum += cluster_.link(link).latency;
    return sum;
  }

  static std::vector<std::uint32_t> ids(const std::vector<LinkId>& links) {
    std::vector<std::uint32_t> out;
    for (const LinkId link : links) out.push_back(index_of(link));
    return out;
  }

  /// Slots between two workers, for so many slices. Through the network there are slots on both
  /// sides and a proxy between.
  void connect(std::uint32_t from, std::uint32_t to, Endpoint a, Endpoint b, std::uint64_t slices) {
    const Transport way = plan_transport(cluster_, gpus_, run_.protocol, a, b, run_.transport);
    const auto kind = static_cast<std::size_t>(way.kind);
    ConnectionSpec slots;
    slots.from = from;
    slots.slots = static_cast<std::uint32_t>(partition_.shape.slices_in_flight());
    slots.overhead = costs().overhead[kind];
    const std::vector<std::uint32_t> near = ids(way.into_slots);
    slots.path = near;
    const Duration near_latency = latency(way.into_slots);
    if (way.kind != HopKind::net) {
      slots.to = to;
      slots.sync = costs().sync[kind];
      slots.credit = near_latency + slots.sync;
      executor_.connect(slots);
      return;
    }
    const std::uint32_t proxy = executor_.add_relay(
        relay_class_, static_cast<std::uint32_t>(a.node * gpus_ + way.proxy_gpu));
    forwarded_ += slices;
    // The flag follows the data: where both go to host memory it adds nothing.
    slots.to = proxy;
    slots.sync = std::max(Duration{}, way.sender_flag - near_latency);
    slots.credit = way.sender_flag;
    executor_.connect(slots);
    // The receiver's freed slot becomes a clear-to-send that crosses the network the other way.
    const std::vector<std::uint32_t> far = ids(way.network);
    const Duration far_latency = latency(way.network);
    slots.from = proxy;
    slots.to = to;
    slots.path = far;
    slots.sync = costs().sync[kind];
    slots.credit = way.receiver_flag + far_latency;
    slots.ack = far_latency;
    executor_.connect(slots);
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  const CollectiveRun& run_;
  const Partition& partition_;
  int gpus_;
  int ranks_;
  Executor<Stamp> executor_;
  std::unique_ptr<Program> program_;
  std::uint32_t relay_class_ = 0;
  std::vector<std::vector<std::uint32_t>> workers_of_rank_;
  std::uint64_t slices_ = 0, forwarded_ = 0;
};

std::vector<LinkLoad> loads(const Cluster& cluster, Duration makespan, auto& executor) {
  std::vector<LinkLoad> out;
  for (std::uint32_t i = 0; i < cluster.links(); ++i) {
    const Bytes carried = executor.carried(i);
    if (carried.count == 0) continue;
    const Duration busy = transfer_time(carried, cluster.link(LinkId{i}).rate);
    out.push_back({LinkId{i}, carried,
                   static_cast<double>(busy.ps) /
                       static_cast<double>(std::max<std::int64_t>(makespan.ps, 1))});
  }
  std::stable_sort(out.begin(), out.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.utilisation > b.utilisation;
  });
  return out;
}

template <class Stamp>
SimulationResult execute(const Cluster& cluster, const SoftwareCosts& software,
                         const CollectiveRun& run, const SimulationOptions& options,
                         Partition partition) {
  SimulationResult result;
  result.partition = std::move(partition);
  Assembly<Stamp> assembly(cluster, software, run, result.partition);
  Executor<Stamp>& executor = assembly.executor();
  std::function<void(std::uint64_t)> progress;
  if (options.progress) {
    progress = [&](std::uint64_t events) {
      const double share = static_cast<double>(events) / static_cast<double>(assembly.events());
      options.progress(std::min(share, 1.0));
    };
  }
  executor.run(progress);

  const Stamp end = executor.makespan();
  result.time = {end.ps};
  for (int i = 0; i < kCauses; ++i)
    result.causes[static_cast<std::size_t>(i)] = end.of(static_cast<Cause>(i));
  for (int rank = 0; rank < assembly.ranks(); ++rank) {
    Duration finish;
    for (const std::uint32_t worker : assembly.workers(rank))
      finish = std::max(finish, Duration{executor.finished(worker).ps});
    result.rank_finish.push_back(finish);
  }
  result.links = loads(cluster, result.time, executor);
  result.events = executor.events();
  result.slices = assembly.slices();
  result.digest = executor.digest();
  return result;
}

Partition split(const Cluster& cluster, const CollectiveRun& run) {
  PartitionInput input;
  input.version = run.version;
  input.collective = run.collective;
  input.algorithm = run.algorithm;
  input.protocol = run.protocol;
  input.count = run.count;
  input.element_bytes = run.element_bytes;
  input.nodes = cluster.nodes();
  input.ranks = cluster.nodes() * run.graph.gpus();
  input.channels = run.channels;
  input.communicator_channels = run.communicator_channels;
  input.threads = run.threads;
  input.buffers = run.buffers;
  return partition(input);
}

}  // namespace

SimulationResult simulate(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const SimulationOptions& options) {
  assert(run.algorithm == Algorithm::ring || run.algorithm == Algorithm::tree);
  assert(run.count > 0);
  const int ranks = cluster.nodes() * run.graph.gpus();
  SimulationResult result;
  if (ranks == 1) {
    result.rank_finish.resize(1);
  } else if (options.explain) {
    result = execute<CausalStamp>(cluster, software, run, options, split(cluster, run));
  } else {
    result = execute<PlainStamp>(cluster, software, run, options, split(cluster, run));
  }
  const Duration makespan = result.time;
  const Duration serialised = software.launch_per_gpu * run.gpus_per_process;
  result.time = std::max(makespan + software.protocol[index_of(run.protocol)].launch, serialised);
  result.launch = result.time - makespan;
  return result;
}

}  // namespace fabricast
