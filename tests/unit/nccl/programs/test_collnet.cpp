// Goal: CollNetDirect, CollNetChain, NVLS with SHARP and PAT move the right bytes over the right
// links and end with the right data. Method: symbolic data through the wiring of seeded random
// shapes of 1 to 9 nodes and 1 to 8 GPUs; bytes of every fabric and NVLink link against what the
// algorithm says; closed forms to the picosecond with costless software; published measurements.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "models/hardware/cluster/sharp.hpp"
#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/programs/token_machine.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

struct Shape {
  int nodes = 2, gpus = 8, heads = 8, leaf_down = 32, pod_leaves = 0;
};

Cluster cluster_of(const Shape& shape, const PartsCatalogue& parts) {
  const NodeGraph node = load_cluster({"dgx-h100", 1, ""}, parts).node();
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf_down = shape.leaf_down;
  fabric.pod_leaves = shape.pod_leaves;
  fabric.core = fabric.spine;
  return Cluster(node, shape.nodes, fabric);
}

/// Heads are the first GPUs, each with the NIC of its number.
CollectiveRun head_call(const Shape& shape, Algorithm algorithm, Collective collective,
                        std::int64_t count, int channels) {
  CollectiveRun run;
  run.version = kNccl2_27_7;
  run.collective = collective;
  run.algorithm = algorithm;
  run.protocol = Protocol::simple;
  run.count = count;
  run.threads = 640;
  run.channels = run.communicator_channels = channels;
  run.members = Members::first(shape.nodes, shape.gpus);
  run.heads.heads = shape.heads;
  for (int head = 0; head < shape.heads; ++head) {
    GraphChannel channel;
    channel.gpu_order.resize(static_cast<std::size_t>(shape.gpus));
    std::iota(channel.gpu_order.begin(), channel.gpu_order.end(), 0);
    std::rotate(channel.gpu_order.begin(), channel.gpu_order.begin() + head,
                channel.gpu_order.end());
    channel.net_in = channel.net_out = head;
    run.graph.channels.push_back(channel);
  }
  return run;
}

struct Case {
  Shape shape;
  CollectiveRun run;
  std::int64_t bytes() const { return run.count * run.element_bytes; }
};

Case random_case(Dice& random, Algorithm algorithm, Collective collective) {
  Case out;
  Shape& shape = out.shape;
  shape.nodes = static_cast<int>(random.pick(2, 9));
  shape.gpus = static_cast<int>(random.pick(algorithm == Algorithm::nvls ? 2 : 1, 8));
  const bool all_heads = algorithm != Algorithm::collnet_direct ||
                         collective != Collective::all_reduce || random.pick(0, 1) == 0;
  shape.heads = all_heads ? shape.gpus : static_cast<int>(random.pick(1, shape.gpus));
  shape.leaf_down = static_cast<int>(random.pick(1, 9));
  const std::int64_t count_max = collective == Collective::all_reduce ? 500'000 : 50'000;
  out.run = head_call(shape, algorithm, collective, random.pick(1, count_max),
                      static_cast<int>(random.pick(1, 4)));
  shape.pod_leaves = static_cast<int>(random.pick(0, 3));
  return out;
}

using Add = void (*)(Assembly&);

/// What must come of a play.
struct Expected {
  bool adds = true;  ///< workers with inputs add their rank's own data on the way to the network
  bool only_sinks = false;  ///< results are what workers without outputs take
  std::size_t sources = 0;  ///< ranks whose data are in each slice of a result
  int times = 1;            ///< as often
  std::int64_t bytes = -1;  ///< of all results of a rank, -1 = not told
};

void check_play(const Case& test, Add add, const Expected& expected) {
  static const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = cluster_of(test.shape, parts);
  const Partition split = partition_of(test.run, test.run.members);
  TokenMachine machine;
  const SimulatedLinks all(machine, cluster);
  Assembly assembly(machine, cluster, parts.software, test.run, split);
  add(assembly);
  std::map<std::uint32_t, int> rank_of;
  std::map<std::uint32_t, bool> is_before;
  for (int rank = 0; rank < assembly.ranks(); ++rank) {
    for (const std::uint32_t worker : assembly.workers(rank)) {
      rank_of[worker] = rank;
      is_before[worker] = machine.reaches_proxy(worker);
    }
  }
  const auto own = [&](std::uint32_t worker) -> Contributions {
    const auto rank = rank_of.find(worker);
    if (rank == rank_of.end() || !is_before[worker]) return {};
    if (machine.has_inputs(worker) && !expected.adds) return {};
    return {{rank->second, 1}};
  };
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(assembly.ranks()));
  bool is_right = true;
  const int stuck =
      machine.run(own, [&](std::uint32_t worker, const Contributions& what, Bytes payload) {
        const auto rank = rank_of.find(worker);
        if (rank == rank_of.end() || is_before[worker]) return;
        if (expected.only_sinks && machine.has_outputs(worker)) return;
        bytes[static_cast<std::size_t>(rank->second)] += payload.count;
        is_right = is_right && what.size() == expected.sources &&
                   std::ranges::all_of(
                       what, [&](const auto& one) { return one.second == expected.times; });
      });
  CHECK(stuck == 0);
  CHECK(is_right);
  for (const std::int64_t got : bytes)
    if (expected.bytes >= 0) CHECK(got == expected.bytes);
}

/// Bytes of the chunks of each head, dealt out by walking the buffer.
std::vector<std::int64_t> bytes_by_head(const Case& test, const Partition& split) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(test.shape.heads));
  const std::int64_t chunk = split.parts.front().chunk_elements;
  for (std::int64_t at = 0, turn = 0; at < test.run.count; at += chunk, ++turn)
    out[static_cast<std::size_t>(turn % test.shape.heads)] +=
        std::min(chunk, test.run.count - at) * test.run.element_bytes;
  return out;
}

/// What a head sends up its NIC and gets from it. Chains have one head per channel: `by_head` is
/// theirs.
struct HeadTraffic {
  std::int64_t up = 0, down = 0;              ///< through its NIC
  std::int64_t trunk_up = 0, trunk_down = 0;  ///< through the uplink of a leaf, per node below it
  bool is_summed = true;  ///< the trunk carries one stream for all nodes of a leaf, not one each
  bool is_spread = true;
};

HeadTraffic traffic(const Case& test, std::int64_t of_head) {
  const std::int64_t share = test.bytes(), all = share * test.shape.nodes;
  switch (test.run.collective) {
    case Collective::all_gather:
      return {share, all, share, all, false, true};
    case Collective::reduce_scatter:
      return {all, share, all, share, true, false};
    default:
      return {of_head, of_head, of_head, of_head, true, true};
  }
}

using Carried = std::map<std::uint32_t, std::int64_t>;

void add_head_traffic(Carried& out, const Cluster& cluster, const Case& test, int nic,
                      std::int64_t of_head) {
  const VertexId vertex = cluster.node().nics()[static_cast<std::size_t>(nic)].vertex;
  const HeadTraffic head = traffic(test, of_head);
  const SharpTree tree = sharp_tree(cluster, all_nodes(cluster), nic);
  std::map<std::uint32_t, std::int64_t> below;
  for (int node = 0; node < test.shape.nodes; ++node) {
    out[index_of(cluster.nic_to_leaf(node, vertex))] += head.up;
    out[index_of(cluster.leaf_to_nic(node, vertex))] += head.down;
    ++below[cluster.leaf_of(node, vertex)];
  }
  if (tree.levels() == 1) return;
  const auto add = [&](const std::vector<SharpTree::Links>& ways, bool once, std::int64_t bytes) {
    std::map<LinkId, std::int64_t> nodes_behind;
    for (const auto& [leaf, nodes] : below)
      for (const LinkId link : ways[tree.place_of(leaf)]) nodes_behind[link] += nodes;
    for (const auto& [link, nodes] : nodes_behind)
      out[index_of(link)] += bytes * (once ? 1 : nodes);
  };
  add(tree.leaf_up, head.is_summed, head.trunk_up);
  add(tree.leaf_down, head.is_spread, head.trunk_down);
}

/// NVLink of CollNetDirect: scatter to and bcast from each of the other heads.
void add_direct_nvlink(Carried& out, const Cluster& cluster, const Case& test,
                       const std::vector<std::int64_t>& of_head) {
  const bool adds_up = test.run.collective != Collective::all_gather;
  const bool hands_out = test.run.collective != Collective::reduce_scatter;
  const NodeGraph& graph = cluster.node();
  const auto cross = [&](int node, int from, int to, std::int64_t bytes) {
    const VertexId a = graph.gpus()[static_cast<std::size_t>(from)].vertex;
    const VertexId b = graph.gpus()[static_cast<std::size_t>(to)].vertex;
    for (const LinkId link : graph.nvlink_route(a, b))
      out[index_of(cluster.global(node, link))] += bytes;
  };
  for (int node = 0; node < test.shape.nodes; ++node) {
    for (int head = 0; head < test.shape.heads; ++head) {
      const std::int64_t bytes = test.run.collective == Collective::all_reduce
                                     ? of_head[static_cast<std::size_t>(head)]
                                     : test.bytes() * test.shape.nodes;
      for (int gpu = 0; gpu < test.shape.gpus; ++gpu) {
        if (gpu == head) continue;
        if (adds_up) cross(node, gpu, head, bytes);
        if (hands_out) cross(node, head, gpu, bytes);
      }
    }
  }
}

/// Compares every link of the kinds that were counted.
void check_carried(const Cluster& cluster, const Case& test, const Carried& expected,
                   bool with_nvlink) {
  static const PartsCatalogue parts = load_catalogue();
  const SimulationResult got = simulate(cluster, parts.software, test.run);
  Carried carried;
  for (const LinkLoad& load : got.links) carried[index_of(load.link)] = load.carried.count;
  for (const auto& [link, bytes] : expected) {
    const std::string name = cluster.link_name(LinkId{link});
    CAPTURE(name);
    CHECK(carried[link] == bytes);
  }
  const std::uint32_t fabric = index_of(cluster.global(test.shape.nodes, LinkId{0}));
  for (const auto& [link, bytes] : carried) {
    const std::string name = cluster.link_name(LinkId{link});
    if (link < fabric && !(with_nvlink && name.find("nvswitch") != std::string::npos)) continue;
    CAPTURE(name);
    CHECK(expected.contains(link));
  }
}

constexpr std::array kHeadCollectives = {Collective::all_reduce, Collective::all_gather,
                                         Collective::reduce_scatter};

}  // namespace

TEST_CASE("CollNetDirect: everybody ends with what the collective promises") {
  Dice random(21);
  for (int i = 0; i < cases(60); ++i) {
    const Case test = random_case(random, Algorithm::collnet_direct, random.of(kHeadCollectives));
    CAPTURE(to_text(test.run.collective));
    CAPTURE(test.shape.nodes);
    CAPTURE(test.shape.gpus);
    CAPTURE(test.shape.heads);
    CAPTURE(test.run.count);
    const int ranks = test.shape.nodes * test.shape.gpus;
    Expected expected;
    expected.sources = static_cast<std::size_t>(ranks);
    expected.bytes = test.bytes();
    if (test.run.collective == Collective::all_gather) {
      expected.sources = static_cast<std::size_t>(test.shape.nodes);
      expected.bytes = test.bytes() * ranks;
    }
    check_play(test, add_collnet_direct, expected);
  }
}

TEST_CASE("CollNetChain: everybody ends with everybody's data once") {
  Dice random(22);
  for (int i = 0; i < cases(40); ++i) {
    const Case test = random_case(random, Algorithm::collnet_chain, Collective::all_reduce);
    CAPTURE(test.shape.nodes);
    CAPTURE(test.shape.gpus);
    CAPTURE(test.run.count);
    Expected expected;
    expected.sources = static_cast<std::size_t>(test.shape.nodes * test.shape.gpus);
    expected.bytes = test.bytes();
    check_play(test, add_collnet_chain, expected);
  }
}

TEST_CASE("NVLS with SHARP: everybody ends with what the collective promises") {
  Dice random(23);
  for (int i = 0; i < cases(60); ++i) {
    const Case test = random_case(random, Algorithm::nvls, random.of(kHeadCollectives));
    CAPTURE(to_text(test.run.collective));
    CAPTURE(test.shape.nodes);
    CAPTURE(test.shape.gpus);
    CAPTURE(test.run.count);
    Expected expected;
    expected.adds = false;  // the switch reads what was scattered
    expected.only_sinks = true;
    expected.sources = static_cast<std::size_t>(test.shape.nodes * test.shape.gpus);
    // A gatherer's slice joins the chunks of all heads.
    if (test.run.collective == Collective::all_reduce) expected.times = test.shape.gpus;
    if (test.run.collective == Collective::all_gather)
      expected.bytes = test.bytes() * test.shape.nodes;  // 1/heads of it: see HeadShare
    if (test.run.collective == Collective::reduce_scatter) expected.bytes = test.bytes();
    check_play(test, add_nvls, expected);
  }
}

TEST_CASE("every link of fabric and NVLink carries what CollNetDirect sends over it") {
  Dice random(24);
  for (int i = 0; i < cases(25); ++i) {
    const Case test = random_case(random, Algorithm::collnet_direct, random.of(kHeadCollectives));
    CAPTURE(to_text(test.run.collective));
    CAPTURE(test.shape.nodes);
    CAPTURE(test.shape.gpus);
    CAPTURE(test.shape.heads);
    CAPTURE(test.shape.leaf_down);
    CAPTURE(test.run.count);
    const Cluster cluster = cluster_of(test.shape, load_catalogue());
    const std::vector<std::int64_t> heads =
        bytes_by_head(test, partition_of(test.run, test.run.members));
    Carried expected;
    for (int head = 0; head < test.shape.heads; ++head)
      add_head_traffic(expected, cluster, test, head, heads[static_cast<std::size_t>(head)]);
    add_direct_nvlink(expected, cluster, test, heads);
    check_carried(cluster, test, expected, true);
  }
}

TEST_CASE("every link of the fabric carries what NVLS with SHARP sends over it") {
  Dice random(25);
  for (int i = 0; i < cases(25); ++i) {
    const Case test = random_case(random, Algorithm::nvls, random.of(kHeadCollectives));
    CAPTURE(to_text(test.run.collective));
    CAPTURE(test.shape.nodes);
    CAPTURE(test.shape.gpus);
    CAPTURE(test.run.count);
    const Cluster cluster = cluster_of(test.shape, load_catalogue());
    const std::vector<std::int64_t> heads =
        bytes_by_head(test, partition_of(test.run, test.run.members));
    Carried expected;
    for (int head = 0; head < test.shape.heads; ++head)
      add_head_traffic(expected, cluster, test, head, heads[static_cast<std::size_t>(head)]);
    check_carried(cluster, test, expected, false);
  }
}

TEST_CASE("every link of the fabric carries what CollNetChain sends over it") {
  Dice random(26);
  for (int i = 0; i < cases(25); ++i) {
    Case test = random_case(random, Algorithm::collnet_chain, Collective::all_reduce);
    CAPTURE(test.shape.nodes);
    CAPTURE(test.shape.gpus);
    CAPTURE(test.run.count);
    const Cluster cluster = cluster_of(test.shape, load_catalogue());
    const Partition split = partition_of(test.run, test.run.members);
    // Chunks go to channels in turn, and channel c to the NIC of chain c mod chains.
    const std::int64_t chunk = split.parts.front().chunk_elements;
    std::vector<std::int64_t> chains(static_cast<std::size_t>(test.shape.heads));
    for (std::int64_t at = 0, turn = 0; at < test.run.count; at += chunk, ++turn)
      chains[static_cast<std::size_t>(turn % test.run.channels % test.shape.heads)] +=
          std::min(chunk, test.run.count - at) * test.run.element_bytes;
    Carried expected;
    for (int head = 0; head < test.shape.heads; ++head) {
      const std::int64_t bytes = chains[static_cast<std::size_t>(head)];
      if (bytes > 0) add_head_traffic(expected, cluster, test, head, bytes);
    }
    check_carried(cluster, test, expected, false);
  }
}

namespace {

/// One chunk from one GPU per node and back, software and blocks cost nothing.
Duration one_chunk(int leaf_down, Bytes size) {
  static const PartsCatalogue bare = bare_parts();
  const Shape shape{4, 1, 1, leaf_down};
  CollectiveRun run =
      head_call(shape, Algorithm::collnet_chain, Collective::all_reduce, size.count / 4, 1);
  const Cluster cluster = cluster_of(shape, bare);
  const SimulationResult got = simulate(cluster, bare.software, run);
  REQUIRE(got.partition.parts.front().chunk_elements * 4 >= size.count);
  return got.time;
}

}  // namespace

TEST_CASE("one chunk: up the tree and down again, to the picosecond") {
  const PartsCatalogue bare = bare_parts();
  const Cluster cluster = cluster_of({4, 1, 1, 8}, bare);
  const NodeGraph& node = cluster.node();
  const VertexId gpu = node.gpus()[0].vertex, nic = node.nics()[0].vertex;
  const auto latency = [&](const std::vector<LinkId>& links) {
    Duration sum;
    for (const LinkId link : links) sum += node.link(link).latency;
    return sum;
  };
  const Bytes size{32 << 10};
  const Duration flag = latency(node.pcie_route(gpu, node.cpu_of(gpu)));
  const Duration ways = latency(node.pcie_route(gpu, nic)) + latency(node.pcie_route(nic, gpu)) +
                        cluster.link(cluster.nic_to_leaf(0, nic)).latency +
                        cluster.link(cluster.leaf_to_nic(0, nic)).latency;
  // A level adds 0.4 us each way, of which the link down has the switch's own 0.22 us.
  const Duration level = nanoseconds(800) - cluster.fabric().leaf.latency;
  const Duration wire = transfer_time(size, cluster.link(cluster.nic_to_leaf(0, nic)).rate);
  CHECK(one_chunk(8, size) == flag + ways + level + wire);

  // Another level: 0.8 us more and two cables between leaf and spine.
  const Cluster tall = cluster_of({4, 1, 1, 2}, bare);
  const SharpTree tree = sharp_tree(tall, all_nodes(tall), 0);
  const Duration up = tall.link(tree.leaf_up[0][0]).latency - tall.fabric().leaf.latency;
  const Duration back = tall.link(tree.leaf_down[0][0]).latency - tall.fabric().spine.latency;
  CHECK(one_chunk(2, size) - one_chunk(8, size) == nanoseconds(800) + up + back);
}

TEST_CASE("a NIC carries S each way whatever the number of nodes") {
  const PartsCatalogue bare = bare_parts();
  const Bytes size{128 << 20};
  for (const int nodes : {2, 8, 40}) {
    CAPTURE(nodes);
    const Shape shape{nodes, 1, 1, 32};
    const Cluster cluster = cluster_of(shape, bare);
    const CollectiveRun run =
        head_call(shape, Algorithm::collnet_chain, Collective::all_reduce, size.count / 4, 4);
    const SimulationResult got = simulate(cluster, bare.software, run);
    const VertexId nic = cluster.node().nics()[0].vertex;
    const Duration least = transfer_time(size, cluster.link(cluster.nic_to_leaf(0, nic)).rate);
    CHECK(got.time > least);
    CHECK(static_cast<double>(got.time.ps) / static_cast<double>(least.ps) < 1.003);
  }
}

TEST_CASE("large messages on 96 H100 come near what NCCL's tuning model says of SHARP" *
          minutes_under_sanitizers()) {
  // algbw in GB/s of NCCL 2.27.7 for 12 nodes (src/graph/tuning.cc). A run published by coreweave
  // (nccl-tests README at cb865533, 8 GiB: 195 GB/s) fits Ring and CollNetChain, which both fill
  // one NIC per GPU, but does not say what it ran.
  const PartsCatalogue parts = load_catalogue();
  const Shape shape{12, 8, 8, 32};
  const Bytes size{std::int64_t{1} << 31};
  for (const auto& [algorithm, GBps] :
       {std::pair{Algorithm::nvls, 266.7}, std::pair{Algorithm::collnet_chain, 192.0},
        std::pair{Algorithm::collnet_direct, 163.2}}) {
    const std::string_view name = to_text(algorithm);
    CAPTURE(name);
    const CollectiveRun run =
        head_call(shape, algorithm, Collective::all_reduce, size.count / 4, 16);
    const SimulationResult got = simulate(cluster_of(shape, parts), parts.software, run);
    CHECK(algbw_GBps(size, got.time) == doctest::Approx(GBps).epsilon(0.1));
  }
}
