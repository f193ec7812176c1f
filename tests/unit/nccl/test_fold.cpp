// Goal: a folded run is the full run, and so is one that jumps over what repeats itself.
// Method: seeded random runs on random fabrics; all that comes out is compared to the picosecond
// and the byte, per rank and link. Runs that are made unlike in one place must be refused.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/nccl/communicator/communicator.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

Drawn random_run(Dice& random, const PartsCatalogue& parts) {
  static const std::vector<std::string> presets = preset_names();
  const NodeGraph& node = node_of(random.of(presets), parts);
  const int nodes = static_cast<int>(random.of(std::array{2, 4, 4, 6, 8, 8, 9, 12}));
  Cluster cluster(
      node, nodes,
      random.pick(0, 3) == 0 ? default_fabric(node, parts) : random_fabric(random, node, parts));
  const bool pat = random.pick(0, 3) == 0;
  const auto all_gpus = static_cast<std::int64_t>(node.gpus().size());
  const int gpus = pat ? 1 : static_cast<int>(random.pick(1, std::min<std::int64_t>(all_gpus, 3)));
  CollectiveRun run;
  run.members = random_members(random, nodes, static_cast<int>(all_gpus), gpus);
  const Collective collective =
      pat ? random.of(std::array{Collective::all_gather, Collective::reduce_scatter})
          : random.of(std::array{Collective::all_reduce, Collective::all_reduce,
                                 Collective::all_gather, Collective::reduce_scatter});
  PartitionInput call = random_call(random, collective, pat ? Algorithm::pat : Algorithm::ring,
                                    run.members.node_count(), gpus);
  if (pat) {
    call.version = kNccl2_27_7;
    call.protocol = Protocol::simple;
    call.threads = 512;
  }
  run.version = call.version;
  run.collective = collective;
  run.algorithm = call.algorithm;
  run.protocol = call.protocol;
  run.element_bytes = call.element_bytes;
  run.channels = run.communicator_channels = std::min(call.channels, 2);
  run.threads = call.threads;
  // Whole warps' lines for everybody, so that no rank has less than another.
  run.count = std::min<std::int64_t>(call.count, 100'000);
  if (collective == Collective::all_reduce)
    run.count = std::int64_t{19'200} * run.channels * call.ranks * random.pick(1, 2);
  run.graph = random_graph(random, pat ? GraphPattern::tree : GraphPattern::ring, gpus);
  const auto nics = static_cast<std::int64_t>(node.nics().size());
  for (GraphChannel& channel : run.graph.channels) {
    channel.net_in = static_cast<int>(random.pick(0, nics - 1));
    channel.net_out =
        random.pick(0, 1) == 0 ? channel.net_in : static_cast<int>(random.pick(0, nics - 1));
  }
  return {std::move(cluster), std::move(run)};
}

}  // namespace

TEST_CASE("folded = full, to the picosecond, for every rank and link") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(11);
  constexpr int kRuns = cases(300);
  int folded = 0, tried = 0, flows = 0, packets = 0, jumps = 0;
  while (folded < kRuns && tried < 2'000) {
    ++tried;
    const Drawn drawn = random_run(random, parts);
    const CollectiveRun& run = drawn.run;
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    if (symmetry.copies() == 1) {
      CHECK(!symmetry.why_not.empty());
      continue;
    }
    ++folded;
    CAPTURE(tried);
    CAPTURE(drawn.cluster.node().name());
    CAPTURE(drawn.cluster.fabric_summary());
    CAPTURE(to_text(run.algorithm));
    CAPTURE(to_text(run.collective));
    CAPTURE(to_text(run.protocol));
    CAPTURE(run.count);
    CAPTURE(run.members.node_count());
    CAPTURE(symmetry.nodes());
    const bool explain = folded % 4 == 0;
    const SimulationResult full =
        simulate(drawn.cluster, parts.software, run, options(false, false, explain));
    const SimulationResult got =
        simulate(drawn.cluster, parts.software, run, options(true, false, explain));
    check_equal(got, full);
    CHECK(got.causes == full.causes);
    CHECK(got.nodes_simulated == symmetry.nodes());
    check_links(drawn, got, full);
    const SimulationResult jumped =
        simulate(drawn.cluster, parts.software, run, options(true, true, explain));
    check_equal(jumped, full);
    CHECK(jumped.causes == full.causes);
    check_links(drawn, jumped, full);
    jumps += explain && jumped.events_skipped > 0;
    if (folded % 3 != 0) continue;
    flows += check_carried(drawn, parts.software, Rung::flow);
    packets += check_carried(drawn, parts.software, Rung::packet);
  }
  CHECK(folded == kRuns);
  CHECK(flows == kRuns / 3);
  CHECK(packets >= kRuns / 12);
  CHECK(jumps >= kRuns / 30);
}

namespace {

/// Chains that begin at each GPU in turn, each with its own NIC, and over them both trees.
Drawn random_trees(Dice& random, const PartsCatalogue& parts, int i) {
  const int gpus = i % 2 == 0 ? 8 : 4, nodes = static_cast<int>(random.pick(1, 10));
  const NodeGraph& node = node_of(i % 4 < 2 ? "dgx-h100" : "dgx-a100", parts);
  FabricConfig fabric = default_fabric(node, parts);
  if (i % 3 == 0) fabric.leaf_down = 2;
  CollectiveRun run = tree_call(random.of(kAllProtocols), gpus, 0);
  run.graph.pattern = random.of(
      std::array{GraphPattern::balanced_tree, GraphPattern::split_tree, GraphPattern::tree});
  run.graph.channels.clear();
  for (int c = 0; c < gpus; ++c) {
    GraphChannel channel;
    for (int k = 0; k < gpus; ++k) channel.gpu_order.push_back((c + k) % gpus);
    channel.net_in = channel.net_out = c;
    run.graph.channels.push_back(channel);
  }
  run.channels = run.communicator_channels = 2 * gpus;
  run.count = std::int64_t{19'200} * run.channels * random.pick(1, 3);
  return {Cluster(node, nodes, fabric), std::move(run)};
}

}  // namespace

TEST_CASE("one rail of a tree for all, and half of the nodes: the full run, to the picosecond") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(14);
  int all_rails = 0, some_rails = 0, mirrored = 0, both = 0, leaves = 0, flows = 0, packets = 0,
      rails_alone = 0;  // the last: on packets, of those that have halves, too
  for (int i = 0; i < cases(160); ++i) {
    Drawn drawn = random_trees(random, parts, i);
    // Below a plain fat-tree rails are unlike, halves are not.
    const int nodes = drawn.cluster.nodes(), gpus = drawn.run.graph.gpus();
    if (i % 5 == 4) {
      FabricConfig fabric = drawn.cluster.fabric();
      fabric.kind = FabricConfig::Kind::fat_tree;
      fabric.leaf_down = static_cast<int>(drawn.cluster.node().nics().size()) *
                         static_cast<int>(random.pick(1, 3));
      drawn.cluster = Cluster(drawn.cluster.node(), nodes, fabric);
    }
    CAPTURE(i);
    CAPTURE(drawn.cluster.nodes());
    CAPTURE(to_text(drawn.run.protocol));
    const Symmetry symmetry = find_symmetry(drawn.cluster, drawn.run);
    const Move* const mirror = mirror_of(symmetry);
    if (symmetry.copies() == 1) continue;
    CAPTURE(symmetry.rails());
    CAPTURE(mirror != nullptr);
    CAPTURE(to_text(drawn.run.algorithm));
    // Where a parent's second GPU reads from the NIC of the first, it does so across sockets for
    // some: moves of one rail are none then, and those of half a node are.
    CHECK((symmetry.rails() == 1 || symmetry.rails() == gpus ||
           drawn.run.graph.pattern != GraphPattern::tree));
    all_rails += symmetry.rails() == gpus;
    some_rails += symmetry.rails() > 1 && symmetry.rails() < gpus;
    mirrored += mirror != nullptr;
    both += mirror != nullptr && symmetry.rails() > 1;
    leaves += mirror && !mirror->trunk.empty();
    CHECK((!mirror || nodes % 2 == 0));
    const SimulationResult full =
        simulate(drawn.cluster, parts.software, drawn.run, options(false));
    const SimulationResult got =
        simulate(drawn.cluster, parts.software, drawn.run, options(true, i % 2 == 0));
    check_equal(got, full);
    CHECK(got.rails_folded == symmetry.rails());
    CHECK(got.nodes_simulated == (mirror != nullptr ? nodes / 2 : nodes));
    check_links(drawn, got, full);
    if (nodes == 1) continue;
    flows += check_carried(drawn, parts.software, Rung::flow);
    const bool on_packets = check_carried(drawn, parts.software, Rung::packet);
    packets += on_packets;
    rails_alone += on_packets && mirror != nullptr && drawn.run.protocol == Protocol::ll128;
  }
  for (const int times :
       {all_rails, some_rails, mirrored, both, leaves, flows, packets, rails_alone})
    CHECK(times >= cases(160) / 32);
}

TEST_CASE("rails of trees that are unlike in one place are not folded, and say why") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(18);
  std::map<std::string, int> refused;
  int tried = 0;
  for (int i = 0; i < 20 && tried < 400; ++tried) {
    Drawn drawn = random_trees(random, parts, tried);
    CollectiveRun& run = drawn.run;
    const int nodes = drawn.cluster.nodes();
    if (nodes == 1 || find_symmetry(drawn.cluster, run).rails() == 1) continue;
    std::string why;
    const int kind = i++ % 5;
    switch (kind) {
      case 0:
      case 1:
      case 2:
        why = spoil_one_part(drawn, kind, nodes * run.graph.gpus(), random);
        break;
      case 3: {
        FabricConfig fabric = drawn.cluster.fabric();
        fabric.kind = FabricConfig::Kind::fat_tree;
        fabric.leaf_down = static_cast<int>(drawn.cluster.node().nics().size());
        drawn.cluster = Cluster(drawn.cluster.node(), nodes, fabric);
        why = "ways of rails cross the fabric differently";
        break;
      }
      case 4:
        run.graph.channels.front().net_in = run.graph.channels.front().net_out = 1;
        why = "rails are unlike";
        break;
    }
    CAPTURE(tried);
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    // What is wrong with rails is wrong with them in both halves.
    const bool has_halves = !why.starts_with("a ") && nodes % 2 == 0;
    if (has_halves) {
      why = "nodes of a binary tree have one image each; " + why;
    } else if (!why.starts_with("a ")) {
      why = "nodes of a binary tree are unlike; an odd number of nodes has no second half; " + why;
    }
    CHECK(symmetry.rails() == 1);
    CHECK(symmetry.copies() == (has_halves ? 2 : 1));
    CHECK(symmetry.why_not == why);
    ++refused[why];
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false)),
                           got = simulate(drawn.cluster, parts.software, run, options(true));
    check_equal(got, full);
    CHECK((has_halves || got.digest == full.digest));
  }
  CHECK(refused.size() == 3 + 2 * 2);  // the latter with and without halves
  CHECK(tried < 400);
}

namespace {

/// Each with the NIC of its number.
void set_heads(CollectiveRun& run) {
  run.graph.pattern = GraphPattern::nvls;
  run.graph.channels.clear();
  for (int head = 0; head < run.heads.heads; ++head) {
    GraphChannel channel;
    channel.gpu_order = {head};
    channel.net_in = channel.net_out = head;
    run.graph.channels.push_back(channel);
  }
}

void head_everywhere(CollectiveRun& run) {
  run.heads.heads = run.members.gpus_per_node();
  set_heads(run);
}

/// NVLS or NVLSTree, heads at all GPUs or at the first ones, each with the NIC of its number. Some
/// nodes have a slow GPU.
Drawn random_nvls(Dice& random, const PartsCatalogue& parts) {
  const NodeGraph& node = node_of("dgx-h100", parts);
  const int nodes = static_cast<int>(random.pick(1, 9)), gpus = static_cast<int>(random.pick(2, 8));
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf_down = static_cast<int>(random.pick(1, 9));
  CollectiveRun run;
  run.version = kNccl2_27_7;
  run.protocol = Protocol::simple;
  run.threads = 640;
  run.channels = run.communicator_channels = static_cast<int>(random.pick(1, 3));
  const bool sharp = nodes > 1 && random.pick(0, 1) == 0;
  run.algorithm = nodes == 1 || sharp ? Algorithm::nvls : Algorithm::nvls_tree;
  run.collective = run.algorithm == Algorithm::nvls_tree
                       ? Collective::all_reduce
                       : random.of(std::array{Collective::all_reduce, Collective::all_gather,
                                              Collective::reduce_scatter});
  run.count = random.pick(1, 2'000'000) / (run.collective == Collective::all_reduce ? 1 : nodes);
  run.count = std::max<std::int64_t>(run.count, 1);
  run.members = Members::first(nodes, gpus);
  const bool all_heads = run.collective != Collective::all_reduce || random.pick(0, 1) == 0;
  run.heads.heads = all_heads ? gpus : static_cast<int>(random.pick(1, gpus));
  set_heads(run);
  if (random.pick(0, 2) == 0)
    run.faults.gpus = {{static_cast<int>(random.pick(0, nodes * gpus - 1)), 0.7}};
  return {Cluster(node, nodes, fabric), std::move(run)};
}

}  // namespace

TEST_CASE("GPUs of a node that copy alike copy as one: the full run, to the picosecond") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(15);
  for (int i = 0; i < 60; ++i) {
    const Drawn drawn = random_nvls(random, parts);
    const CollectiveRun& run = drawn.run;
    CAPTURE(i);
    CAPTURE(to_text(run.algorithm));
    CAPTURE(to_text(run.collective));
    CAPTURE(run.members.node_count());
    CAPTURE(run.members.gpus_per_node());
    CAPTURE(run.heads.heads);
    CAPTURE(run.count);
    const bool explain = i % 4 == 0;
    const SimulationResult full =
        simulate(drawn.cluster, parts.software, run, options(false, false, explain));
    const SimulationResult got =
        simulate(drawn.cluster, parts.software, run, options(true, i % 2 == 1, explain));
    check_equal(got, full);
    CHECK(got.causes == full.causes);
    check_links(drawn, got, full);
    CHECK(!full.merged);
    // Two GPUs, one of them slow, have nothing in common.
    const bool alone = run.members.ranks() == 2 && !run.faults.gpus.empty();
    CHECK(got.merged == !alone);
    CHECK((got.events_skipped > 0) == got.merged);
  }
}

TEST_CASE(
    "one head and half of the nodes for all, NVLS and NVLSTree: the full run, to the picosecond") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(41);
  int mirrored = 0, trunks = 0, rails = 0, merged = 0, all = 0;
  for (int i = 0; i < cases(240); ++i) {
    Drawn drawn = random_nvls(random, parts);
    CollectiveRun& run = drawn.run;
    const int nodes = drawn.cluster.nodes();
    if (run.algorithm != Algorithm::nvls_tree && nodes > 1) continue;
    if (i % 3 != 0) run.faults.gpus.clear();
    // As much for both trees.
    run.channels = run.communicator_channels = 2 * static_cast<int>(random.pick(1, 2));
    run.count = std::int64_t{1024} * run.heads.heads * run.channels * random.pick(1, 400);
    // And for all heads, up to the last chunk.
    if (i % 4 < 2) {
      head_everywhere(run);
      run.count = (std::int64_t{32} << 10) * run.heads.heads * run.channels * random.pick(1, 3);
    }
    CAPTURE(i);
    CAPTURE(nodes);
    CAPTURE(drawn.cluster.fabric_summary());
    CAPTURE(run.members.gpus_per_node());
    CAPTURE(run.heads.heads);
    CAPTURE(run.count);
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    const Move* const mirror = mirror_of(symmetry);
    mirrored += mirror != nullptr;
    trunks += mirror && !mirror->trunk.empty();
    rails += symmetry.rails() > 1;
    merged += symmetry.lanes.merges();
    all += mirror != nullptr && symmetry.rails() > 1 && symmetry.lanes.merges();
    if (nodes % 2 != 0 || !run.faults.gpus.empty()) CHECK(!mirror);
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false)),
                           got = simulate(drawn.cluster, parts.software, run,
                                          options(true, i % 2 == 1));
    check_equal(got, full);
    CHECK(got.nodes_simulated == (mirror != nullptr ? nodes / 2 : nodes));
    check_links(drawn, got, full);
  }
  CHECK(mirrored >= cases(240) / 32);
  CHECK(trunks >= cases(240) / 64);
  CHECK(rails >= cases(240) / 16);
  CHECK(merged >= cases(240) / 16);
  CHECK(all >= cases(240) / 128);
}

TEST_CASE("GPUs that stand in groups copy as one in each group") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("gb200-nvl72", parts);
  for (const int nodes : {1, 2}) {
    CollectiveRun run;
    run.version = kNccl2_27_7;
    run.collective = Collective::all_reduce;
    run.algorithm = nodes == 1 ? Algorithm::nvls : Algorithm::nvls_tree;
    run.protocol = Protocol::simple;
    run.threads = 640;
    run.count = 300'000;
    const int gpus = static_cast<int>(node.gpus().size());
    run.members = Members::first(nodes, gpus);
    run.heads.heads = 4;
    run.graph.pattern = GraphPattern::nvls;
    for (int head = 0; head < run.heads.heads; ++head) {
      GraphChannel channel;
      channel.gpu_order = {head};
      channel.net_in = channel.net_out = head;
      run.graph.channels.push_back(channel);
    }
    run.faults.gpus = {{gpus - 1, 0.7}};
    const Drawn drawn{Cluster(node, nodes, default_fabric(node, parts)), run};
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false));
    const SimulationResult got = simulate(drawn.cluster, parts.software, run, options(true));
    check_equal(got, full);
    check_links(drawn, got, full);
    CHECK(got.merged);
  }
}

TEST_CASE("where a link goes down GPUs of a node do not copy as one") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(16);
  for (int i = 0; i < 10; ++i) {
    Drawn drawn = random_nvls(random, parts);
    drawn.run.faults.outages = {{drawn.cluster.first_fabric_link(), Outage{}}};
    const SimulationResult full =
        simulate(drawn.cluster, parts.software, drawn.run, options(false));
    const SimulationResult got = simulate(drawn.cluster, parts.software, drawn.run, options(true));
    check_equal(got, full);
    CHECK(!got.merged);
    CHECK(got.digest == full.digest);
  }
}

TEST_CASE("what is unlike in one place is not folded, and says why") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(12);
  std::map<std::string, int> refused;
  int tried = 0;
  for (int i = 0; i < 66 && tried < 2'000; ++tried) {
    Drawn drawn = random_run(random, parts);
    CollectiveRun& run = drawn.run;
    if (find_symmetry(drawn.cluster, run).copies() == 1) continue;
    std::string why;
    const int last = run.members.ranks() - 1;
    const int kind = i++ % 6;
    switch (kind) {
      case 0:
      case 1:
      case 2:
        why = spoil_one_part(drawn, kind, last + 1, random);
        break;
      case 3:
        if (run.algorithm != Algorithm::ring) continue;
        run.collective = Collective::all_reduce;
        run.count = 19'200 * run.channels * (last + 1) - 1;
        why = "the last chunks of ranks differ in size";
        break;
      case 4:
        if (run.algorithm != Algorithm::ring) continue;
        run.collective = Collective::broadcast;
        run.root = static_cast<int>(random.pick(0, last));
        why = "the root is unlike other ranks";
        break;
      case 5: {
        FabricConfig fabric = drawn.cluster.fabric();
        fabric.nodes_per_rack = 1;
        fabric.racks.pitch_metres = 1;
        drawn.cluster = Cluster(drawn.cluster.node(), drawn.cluster.nodes(), fabric);
        why = "cables differ in length";
        break;
      }
    }
    CAPTURE(i);
    const Symmetry symmetry = find_symmetry(drawn.cluster, run);
    // Leaves without a spine between them stay alike if every one stands in the middle of its rack.
    if (why == "cables differ in length" && symmetry.copies() > 1) continue;
    CHECK(symmetry.copies() == 1);
    CHECK(symmetry.why_not == why);
    ++refused[symmetry.why_not];
    const SimulationResult full = simulate(drawn.cluster, parts.software, run, options(false)),
                           got = simulate(drawn.cluster, parts.software, run, options(true));
    check_equal(got, full);
    CHECK(got.digest == full.digest);
    CHECK(got.why_not_folded == why);
  }
  int all = 0;
  for (const auto& [why, times] : refused) all += times;
  CHECK(refused.size() == 6);
  CHECK(all >= 50);
}

TEST_CASE("a jump over what repeats itself lands where every event would have led") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(13);
  int jumped = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string name = random.of(std::array{"dgx-h100", "dgx-a100", "pcie-2gpu"});
    const int nodes = static_cast<int>(random.pick(1, 3));
    const Bench bench(name, nodes, parts);
    const auto gpus_max = static_cast<std::int64_t>(bench.cluster.node().gpus().size());
    const int gpus =
        static_cast<int>(random.pick(nodes == 1 ? 2 : 1, std::min<std::int64_t>(gpus_max, 4)));
    const bool tree = i % 2 == 0;
    const Protocol protocol = random.of(kAllProtocols);
    CollectiveRun run = tree ? tree_call(protocol, gpus, 1)
                             : ring_call(random.of(kRingCollectives), protocol, gpus, 1);
    run.channels = run.communicator_channels = static_cast<int>(random.pick(1, 2));
    run.count = random.pick(4'000'000, 8'000'000) / (protocol == Protocol::ll ? 4 : 1);
    CAPTURE(i);
    CAPTURE(name);
    CAPTURE(nodes);
    CAPTURE(to_text(run.collective));
    CAPTURE(to_text(protocol));
    const SimulationResult full = simulate(bench.cluster, parts.software, run, options(false));
    const SimulationResult got = simulate(bench.cluster, parts.software, run, options(false, true));
    check_equal(got, full);
    REQUIRE(got.links.size() == full.links.size());
    for (std::size_t k = 0; k < got.links.size(); ++k) {
      CHECK(got.links[k].link == full.links[k].link);
      CHECK(got.links[k].carried == full.links[k].carried);
    }
    CHECK(full.events_skipped == 0);
    if (got.events_skipped > 0) ++jumped;
  }
  CHECK(jumped >= 20);
}

TEST_CASE("a long ring is jumped over, wherever its period begins" * minutes_under_sanitizers()) {
  // A look just before the one that closes the period may be taken for it.
  const Bench bench("dgx-h100", 512, load_catalogue());
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  for (const char* assignment : {"NCCL_ALGO=Ring", "NCCL_PROTO=LL", "NCCL_MAX_NCHANNELS=1"})
    config.environment.set(assignment);
  const Communicator communicator = make_communicator(bench.cluster, config);
  SoftwareCosts software = bench.parts.software;
  ProtocolCosts& ll = software.protocol[static_cast<std::size_t>(Protocol::ll)];
  for (int overhead_ns = 440; overhead_ns <= 530; overhead_ns += kSanitized ? 30 : 10) {
    ll.overhead[static_cast<std::size_t>(HopKind::nvlink)] = nanoseconds(overhead_ns);
    for (const std::int64_t count : {1 << 18, 1 << 20, 1 << 22}) {
      CAPTURE(overhead_ns);
      CAPTURE(count);
      const DecidedCall call = decide_call(communicator, {Collective::all_reduce, count, 4, 0});
      SimulationOptions folded = options(true, true);
      folded.first_look = SimulationOptions{}.first_look;
      const SimulationResult got = simulate(bench.cluster, software, call.run, folded);
      CHECK(got.nodes_simulated == 32);
      CHECK((got.events - got.events_skipped) * 24 < got.events);  // folded alone: 16
    }
  }
}
